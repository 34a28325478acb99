"""
Test a function of streaming DataFrames in real-time mode: send records, and get records and latencies.

`spark_rtm.testing.plugin` is a pytest plugin with a session, a broker, a database and the `run_real_time` fixture.
"""
