"""
Other stream processors, measured with the same topics, traffic and verification as real-time mode.

Each engine runs in its own process and environment, because its libraries conflict with those of Spark.
"""
