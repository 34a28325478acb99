"""Tests of attribution/credit."""
