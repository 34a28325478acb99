"""The colours used in all charts."""

BLUE, ORANGE, GREY = "#1a73e8", "#e8710a", "#5f6368"
LIGHT_GREY = "#dadce0"
