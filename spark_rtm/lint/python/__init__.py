"""Read Python code by following its execution paths without running it."""
