"""What `skills.py` calls: generated parts, checks of the pack, and the linter."""
