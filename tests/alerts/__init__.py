"""Tests of the alert jobs on a real broker."""
