"""The ad-attribution pipeline: each query has its own module, and `pipeline.py` starts all queries."""
