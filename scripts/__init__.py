"""Command lines of the pack; `skills.py` is the one that people call."""
