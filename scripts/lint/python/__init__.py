"""Interpret Python source without running it."""
