"""Cores of claims: what they relate to real-time mode, whatever the other words are."""
