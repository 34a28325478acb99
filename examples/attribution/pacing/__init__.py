"""The pacing rule, which decides when a campaign has reached its goal."""
