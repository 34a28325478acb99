"""The linter for code and advice about real-time mode; needs only Python."""
