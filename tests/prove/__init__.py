"""Tests of prove."""
