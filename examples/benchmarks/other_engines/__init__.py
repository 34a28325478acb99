"""
Other engines, measured beside real-time mode with the same topics, traffic, measure and verification.

Nothing arrives; importing this package starts and fetches nothing.
Each engine lives in files and processes of its own: its libraries would not get along with those of Spark.
"""
