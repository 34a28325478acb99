"""The folder to put on the `PYTHONPATH` of Python workers: they connect to Spark before they import PySpark."""
