"""The checks of `prove`: each returns verdicts on one running query."""
