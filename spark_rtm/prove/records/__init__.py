"""Make records for a query from its plan: good ones, others that pass its filters, and hostile ones."""
