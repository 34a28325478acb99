"""Tools and building blocks for Apache Spark real-time mode."""

__version__ = "0.1.0"
DOCUMENTATION = "https://your-organization.github.io/spark-real-time-mode"
"""The address of the site."""
