"""Linter for code and advice about real-time mode; it needs only the standard library."""
