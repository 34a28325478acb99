"""Run somebody's own query in real-time mode against a real broker, and say what breaks."""
