"""Check the pack. Each check takes the root folder and yields findings."""
