"""Implement the commands of `scripts/skills.py`: generate, validate, lint and install."""
