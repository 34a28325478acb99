"""Tests of `scripts/text`."""
