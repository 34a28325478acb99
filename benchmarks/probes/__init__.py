"""Short runs of examples: lateness of joins and alarms, and costs of Python and of a stop."""
