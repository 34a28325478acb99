"""Tables generated from benchmark JSON."""
