"""Checks of the pack: each takes the root folder, yields findings, and has a test that makes it fail."""
