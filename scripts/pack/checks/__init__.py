"""Checks of the pack; each takes its root folder and yields findings, and has a test that makes it fail."""
