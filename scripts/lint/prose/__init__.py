"""Checks of prose: wrong claims about real-time mode, and marks of counterexamples."""
