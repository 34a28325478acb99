"""The ad-attribution pipeline: one query per module, and `pipeline` to start them together."""
