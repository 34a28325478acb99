"""Analyze Python code by following its execution paths without running the code."""
