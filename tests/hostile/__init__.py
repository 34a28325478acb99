"""Hostile inputs for each command that reads what others wrote."""
