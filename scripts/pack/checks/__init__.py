"""Checks of the pack. Each check takes the root folder and yields findings, and a test makes the check fail."""
