"""The commands of `rtm` that need no folder of their own. Each module exports a list `COMMANDS`."""
