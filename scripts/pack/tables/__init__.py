"""Render tables, sentences and a chart from recorded runs and from the pack itself."""
