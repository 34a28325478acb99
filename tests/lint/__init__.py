"""Tests of the linter, with its case files."""
