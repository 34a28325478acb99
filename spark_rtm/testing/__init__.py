"""
Test a function of streaming DataFrames in real-time mode: records in, records with their latencies out.

`spark_rtm.testing.plugin` is a pytest plugin with a session, a broker, a database and the fixture `run_real_time`.
"""
