"""Tests of attribution/chaos/parts."""
