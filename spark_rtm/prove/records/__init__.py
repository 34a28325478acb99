"""Generate records for a query from its plan: good records, records that pass its filters, and hostile records."""
