"""The rules of the linter, grouped by what they check."""
