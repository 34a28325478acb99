"""Verdicts, and what is known about a failure: condition, line, fix and page."""
