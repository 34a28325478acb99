"""Find what the user wants to prove, and build a query of it that the checks can run."""
