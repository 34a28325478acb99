"""Compare the results of a micro-batch job with those of its real-time version."""
