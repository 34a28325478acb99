"""Programs that install, check and maintain the skill, and build its site."""
