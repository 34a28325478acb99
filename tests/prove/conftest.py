from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_rtm.prove.engine import Bench
from tests.prove.judge import Judge


@pytest.fixture
def bench(spark: SparkSession, kafka: str, tmp_path: Path) -> Bench:
    folder = tmp_path / "prove"
    folder.mkdir()
    return Bench(spark, kafka, folder)


@pytest.fixture
def judge(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Judge:
    # No test measures a latency. On a busy machine, slow expressions need more time.
    monkeypatch.setattr("spark_rtm.prove.checks.flow.WARM_UP_SECONDS", 0.1)
    monkeypatch.setattr("spark_rtm.prove.checks.slow.TOTAL_SECONDS", 180.0)
    return Judge(bench, tmp_path / "job.py")
