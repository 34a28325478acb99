"""Tests of the operational jobs, on a real broker."""
