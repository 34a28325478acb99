"""Tests of pack/tables."""
