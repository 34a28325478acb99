"""
Size and value limits for Kafka records.

This module imports nothing, so clients that do not use Spark can import it.
"""

MAX_RECORD_BYTES = 100_000
"""Records with more bytes than this are rejected as `oversized` and are not parsed."""
MAX_RAW_BYTES = 1_000_000
"""Maximum number of bytes of a rejected record's value that the reject topic keeps."""
MAX_KEY_BYTES = 1024
"""Maximum number of bytes of a rejected record's key that the reject topic keeps."""
MAX_HEADERS = 100
"""Records with more headers than this are rejected as `bad_headers`."""
MAX_NUMBER = 10**15
"""Numbers above this value cannot be times or amounts. Arithmetic on such numbers could overflow and end the query."""
ID_PATTERN = r"\A[A-Za-z0-9_.:-]{1,128}\z"
"""Pattern of a valid id. An id cannot contain a slash, because result ids consist of ids joined by slashes."""
