"""Tests of attribution/correlation."""
