"""
Benchmark of one batch boundary: which phases make up the longest wait of a record.

The phases come from Spark's own log lines, which have the time in milliseconds, and from the times of the records.
"""
