"""Tests of `spark_rtm/text`."""
