"""Tests of attribution/demo."""
