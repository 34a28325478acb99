"""Tests of `scripts/pack`."""
