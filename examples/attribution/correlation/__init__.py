"""Correlation: which impression, click and playback step belong to which ad request."""
