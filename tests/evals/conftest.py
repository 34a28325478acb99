from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_rtm.prove.engine import Bench


@pytest.fixture
def bench(spark: SparkSession, kafka: str, tmp_path: Path) -> Bench:
    return Bench(spark, kafka, tmp_path)
