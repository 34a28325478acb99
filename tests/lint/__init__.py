"""Tests of the linter and their case files."""
