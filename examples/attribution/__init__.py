"""The ad-attribution pipeline: each query has a separate module, and `pipeline.py` starts all queries."""
