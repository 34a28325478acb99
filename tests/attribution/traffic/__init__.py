"""Tests of attribution/traffic."""
