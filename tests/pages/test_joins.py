from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from spark_rtm.realtime.queries import QueryFailedError, wait_until
from tests.helpers import eventually
from tests.pages.jobs import ModeJob, send, written

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(180), pytest.mark.side_by_side]


def names(spark: SparkSession, name: str) -> DataFrame:
    return spark.sql(f"SELECT '{name}' AS value, 'new {name}' AS name")


def start_named(job: ModeJob, *tables: DataFrame) -> StreamingQuery:
    """Join tables by broadcast, send two records and wait for their results; only the first result has names."""
    rows = job.rows().select(F.col("value").cast("string"))
    for number, table in enumerate(tables):
        rows = rows.join(F.broadcast(table.withColumnRenamed("name", f"name{number}")), "value", "left")
    found = (F.coalesce(f"name{number}", F.lit("-")) for number in range(len(tables)))
    query = job.copy(rows.select(F.concat_ws(":", "value", *found).alias("value")), "1 second")
    send(job, "a", "b")
    expected = ["a" + ":new a" * len(tables), "b" + ":-" * len(tables)]
    wait_until(lambda: written(job) == expected, 60, "the first results", [query])
    return query


def test_row_added_to_table_is_read_in_next_batch_but_added_file_is_not(job: ModeJob, tmp_path: Path) -> None:
    """Spark lists the files of a path once, when the query is built."""
    path, table = str(tmp_path / "names"), job.source.replace("-", "_")
    names(job.spark, "a").write.parquet(path)
    names(job.spark, "a").write.saveAsTable(table)
    try:
        query = start_named(job, job.spark.read.parquet(path), job.spark.table(table))
        names(job.spark, "b").write.mode("append").parquet(path)
        names(job.spark, "b").write.mode("append").saveAsTable(table)

        seen = query.lastProgress.batchId if query.lastProgress else -1
        wait_until(lambda: query.lastProgress and query.lastProgress.batchId > seen + 1, 60, "2 batches", [query])
        send(job, "a", "b")
        wait_until(lambda: len(written(job)) == 4, 60, "the later results", [query])
        assert ["a:new a:new a", "b:-:new b"] == written(job)[2:]
        query.stop()
        eventually(lambda: not query.isActive, 60, "the query to stop")
    finally:
        job.spark.sql(f"DROP TABLE {table}")


def test_replaced_file_of_path_ends_query(job: ModeJob, tmp_path: Path) -> None:
    path = str(tmp_path / "names")
    names(job.spark, "a").write.parquet(path)
    query = start_named(job, job.spark.read.parquet(path))
    names(job.spark, "b").write.mode("overwrite").parquet(path)

    with pytest.raises(QueryFailedError, match=r"FAILED_READ_FILE\.FILE_NOT_EXIST"):
        wait_until(lambda: False, 60, "an error", [query])
