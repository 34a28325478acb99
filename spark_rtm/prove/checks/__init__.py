"""The checks of `prove`. Each check returns verdicts on a running query."""
