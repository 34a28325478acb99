"""Run a user's job with replacements for its services, and record its queries instead of starting them."""
