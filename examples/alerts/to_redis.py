"""
Write rows to Redis within milliseconds, through a `ForeachWriter` in Scala.

OSS 4.3.0 passes rows to a Python writer only at the end of a long batch.
"""

from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamWriter

from spark_rtm.services.scala import scala_object

SCALA = Path(__file__).with_suffix(".scala")


def to_redis(
    rows: DataFrame, host: str, port: int = 6379, password_file: str = "", deadline_seconds: float = 60
) -> DataStreamWriter:
    """
    Return a writer that sets the string column `key` to the string column `value`, or deletes a key without a value.

    The sink retries for `deadline_seconds`, and then the query fails.
    Every executor reads the password from `password_file`, so the plan of the query does not contain it. After a
    restart, Redis briefly shows the older values of uncommitted rows again. The connection has no TLS.
    """
    scala = scala_object(rows.sparkSession, SCALA, "alerts.ToRedis")
    writer = rows.writeStream
    frame = rows.select("key", "value")._jdf  # noqa: SLF001 - for Scala
    writer._jwrite = scala.of(frame, host, port, password_file, int(deadline_seconds * 1000))  # noqa: SLF001 - the same
    return writer
