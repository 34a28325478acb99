"""Check prose for wrong claims about real-time mode, and recognize text marked as a counterexample."""
