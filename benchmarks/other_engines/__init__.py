"""
Other stream processors, measured with the topics, traffic and verification of real-time mode.

Each engine runs in its own process and environment, because its libraries conflict with Spark's libraries.
"""
