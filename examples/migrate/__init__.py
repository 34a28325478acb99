"""A micro-batch job with state and `foreachBatch` that moves to real-time mode and back (`references/migrate.md`)."""
