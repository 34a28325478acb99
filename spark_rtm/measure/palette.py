"""The colours used in all charts."""

BLUE, ORANGE, GREEN, PURPLE, RED, GREY = "#1a73e8", "#e8710a", "#188038", "#9334e6", "#d93025", "#5f6368"
SERIES = (BLUE, ORANGE, GREEN, PURPLE, RED, GREY)
"""Colours for a chart's lines, in order."""
LIGHT_GREY = "#dadce0"
