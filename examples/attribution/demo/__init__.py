"""The demonstration: command line, monitor, live view, report and published numbers."""
