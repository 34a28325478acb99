"""Runnable examples of Apache Spark real-time mode."""
