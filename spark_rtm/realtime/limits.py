"""Limits for Kafka records and commands, which programs without Spark can also import."""

MAX_RECORD_BYTES = 100_000
"""Maximum size of a record. Larger records are rejected as `oversized` without parsing."""
MAX_RAW_BYTES = 1_000_000
"""Maximum size of a rejected value in the reject topic."""
MAX_KEY_BYTES = 1024
"""Maximum size of a rejected key in the reject topic."""
MAX_HEADERS = 100
"""Maximum number of headers. Records with more headers are rejected as `bad_headers`."""
MAX_NUMBER = 10**15
"""Maximum for times and amounts. Arithmetic on greater numbers could overflow and make the query fail."""
ID_PATTERN = r"\A[A-Za-z0-9_.:-]{1,128}\z"
"""Pattern for ids. It excludes the slash, which separates ids within result ids."""
DEADLINE_SECONDS = 30.0
"""Default deadline for a command to a running query."""
