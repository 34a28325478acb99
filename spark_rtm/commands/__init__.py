"""The commands of `rtm` that need no folder of their own. Each module of a command exports a list `COMMANDS`."""
