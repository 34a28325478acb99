"""A stateful micro-batch job with `foreachBatch` that moves to real-time mode and back (`references/migrate.md`)."""
