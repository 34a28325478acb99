"""Tests of attribution/pacing."""
