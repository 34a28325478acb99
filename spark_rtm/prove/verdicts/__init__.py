"""Verdicts, and details of a failure: condition, line, fix and page."""
