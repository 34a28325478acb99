import contextlib
import io
import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_rtm.realtime.proof import plan_of_frame, plan_of_query
from tests.helpers import eventually

pytestmark = pytest.mark.spark


def test_plans_equal_what_explain_prints(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The plan of a frame and of a running query is the text that `explain()` prints, apart from generated ids."""
    stream = spark.readStream.format("rate").load().groupBy("value").count()
    writer = stream.writeStream.format("noop").outputMode("update").option("checkpointLocation", str(tmp_path))
    query = writer.trigger(processingTime="1 hour").start()
    eventually(lambda: query.lastProgress, 60, "a finished batch")

    plans = plan_of_frame(stream), plan_of_query(query)
    assert capsys.readouterr().out == ""
    for plan, subject in ((plans[0], stream), (plans[1], query)):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            subject.explain()
        assert "Exchange hashpartitioning(value" in plan
        assert _without_ids(printed.getvalue()) == _without_ids(plan)


def _without_ids(plan: str) -> str:
    return re.sub(r"[0-9a-f-]{36}|\d+", "", plan).strip()
