"""Tools of the pack; `skills.py` is their command line."""
