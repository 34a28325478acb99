import pytest
from pyspark.errors import PySparkValueError


def test_a_truth_value_is_no_duration(writer):
    with pytest.raises(PySparkValueError, match="VALUE_NOT_NON_EMPTY_STR"):
        writer.trigger(realTime=True)
