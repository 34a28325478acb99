"""Tests of attribution/chaos."""
