"""The `rtm prove` checks. Each check returns verdicts on a running query."""
