"""Size and value limits for Kafka records, also for clients that do not use Spark."""

MAX_RECORD_BYTES = 100_000
"""Maximum size of a record; larger ones are rejected as `oversized` without parsing."""
MAX_RAW_BYTES = 1_000_000
"""Maximum size of a rejected value in the reject topic."""
MAX_KEY_BYTES = 1024
"""Maximum size of a rejected key in the reject topic."""
MAX_HEADERS = 100
"""Maximum number of headers; records with more are rejected as `bad_headers`."""
MAX_NUMBER = 10**15
"""Maximum of times and amounts. Arithmetic on greater numbers could overflow and make the query fail."""
ID_PATTERN = r"\A[A-Za-z0-9_.:-]{1,128}\z"
"""Pattern of ids, without the slash that joins ids to result ids."""
