import threading
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from examples.attribution.soak.growth import UNITS
from examples.attribution.soak.samples import sample, sampling
from tests.helpers import eventually

pytestmark = pytest.mark.spark


def test_sample_of_a_query_with_state(spark: SparkSession, tmp_path: Path) -> None:
    counts = spark.readStream.format("rate").load().groupBy("value").count()
    writer = counts.writeStream.format("noop").outputMode("update").queryName("counts")
    query = writer.option("checkpointLocation", str(tmp_path / "counts")).start()
    eventually(lambda: (query.lastProgress or {"batchId": 0})["batchId"] >= 2, 60, "two batches")

    found = sample(spark, tmp_path)

    assert [] == [group for group in UNITS if not sum(found[group].values())]
    assert found["state_rows"]["counts"] > 0
    assert found["checkpoint_files"]["counts"] >= sum(1 for _ in (tmp_path / "counts" / "offsets").iterdir())
    assert found["memory_mib"]["Spark"] > found["jvm_mib"]["heap"] > 1
    assert found["handles"]["driver and audit"] > 3
    assert found["cpu_seconds"]["Spark"] <= found["machine_cpu_seconds"]["all programs"]


def test_error_of_a_sample_ends_the_run(tmp_path: Path) -> None:
    """A soak without samples proves nothing."""
    was_called = threading.Event()

    def fail() -> dict[str, int]:
        was_called.set()
        raise RuntimeError("no process table")

    with pytest.raises(RuntimeError, match="no process table"), sampling(fail, tmp_path / "samples.jsonl", 0.01):
        assert was_called.wait(60)
