"""The pacing rule, which decides when a campaign has delivered its goal and must no longer be served."""
