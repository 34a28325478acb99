"""Read the checkpoint of a streaming query without changing it."""
