"""Lint code and documentation for real-time mode, using only the standard library."""
