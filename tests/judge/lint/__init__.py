"""Tests of the linter, with its corpus."""
