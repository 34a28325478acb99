"""Building blocks to copy into a real-time job; they import only PySpark and the standard library."""
