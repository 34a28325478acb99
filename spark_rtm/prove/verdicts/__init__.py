"""Verdicts and failure details: condition, line, fix and page."""
