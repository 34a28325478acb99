"""The checks of `prove`. Each returns verdicts on a running query."""
