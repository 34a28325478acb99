"""Tests of the move from micro-batch mode to real-time mode."""
