"""Find the user's target, and build a query for the checks."""
