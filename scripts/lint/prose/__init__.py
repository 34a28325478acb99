"""Claims about real-time mode in sentences and tables."""
