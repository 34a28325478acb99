"""Tables generated from published runs of the attribution pipeline."""
