"""Generate, validate and install the pack: the files that make up the skill."""
