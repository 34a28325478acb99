"""The demonstration: its command line, monitor, live view, report and published numbers."""
