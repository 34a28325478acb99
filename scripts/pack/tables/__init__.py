"""Render tables and a chart from the JSON of recorded runs."""
