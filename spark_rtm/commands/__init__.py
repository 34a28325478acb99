"""The `rtm` commands that consist of a single module. Each module exports a `COMMANDS` list."""
