"""Lint rules for code and cluster definitions, grouped by topic."""
