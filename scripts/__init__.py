"""Tools that generate, check, lint and install the skill; `skills.py` is their command line."""
