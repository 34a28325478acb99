"""The demonstration: command line, live view and report."""
