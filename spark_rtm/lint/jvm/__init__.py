"""Translate Scala and Java into Python syntax trees, so the same rules apply."""
