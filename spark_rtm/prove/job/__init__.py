"""Run the file of a stranger: replace what it has in production, and record its queries instead of starting them."""
