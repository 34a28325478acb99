"""Tests of attribution/audit."""
