"""Tests of the command `inspect`."""
