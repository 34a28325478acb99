from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from spark_rtm.prove.subjects.bench import Bench


@pytest.fixture
def bench(spark: SparkSession, kafka: str, tmp_path: Path) -> Bench:
    from spark_rtm.prove.subjects.bench import Bench  # noqa: PLC0415 - most tests of this folder do without Spark

    return Bench(spark, kafka, tmp_path)
