import unittest

import pytest


def wrong(events):
    return events.writeStream.format("console").outputMode("append").trigger(realTime="5 minutes").start()


def test_fails_later(events):
    query = events.orderBy("key").writeStream.format("console").outputMode("update").trigger(realTime="5 minutes").start()
    with pytest.raises(StreamingQueryException):
        query.awaitTermination(60)


def test_fails_in_a_helper(events):
    with pytest.raises(AnalysisException):
        wrong(events)


def test_exception(events):
    query = events.limit(1).writeStream.format("console").outputMode("update").trigger(realTime="5 minutes").start()
    assert "LIMIT" in str(query.exception())


class TestTrigger(unittest.TestCase):
    def test_number(self):
        self.assertRaises(PySparkValueError, lambda: self.writer.trigger(realTime=5))
