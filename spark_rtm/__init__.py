"""Tools and building blocks for Apache Spark real-time mode."""

__version__ = "0.1.0"
