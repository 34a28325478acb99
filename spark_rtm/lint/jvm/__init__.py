"""Translate Scala and Java into Python syntax trees, so that the same rules apply."""
