"""Tests of kafka."""
