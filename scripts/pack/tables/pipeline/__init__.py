"""Tables generated from the JSON of runs of the attribution pipeline."""
