"""Lint rules for code and cluster definitions, grouped by what they check."""
