"""Building blocks to copy into your own real-time job. The modules import only PySpark and the standard library."""
