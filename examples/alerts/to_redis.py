"""
Write rows to Redis within milliseconds, through a `ForeachWriter` in Scala.

In real-time mode, OSS 4.3.0 passes rows to a Python writer only at the end of the batch, which can be minutes later.
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
    Return a writer that stores the string column `value` in Redis under the string column `key`.

    If `value` is null, the writer deletes the key. After an error, the writer retries for `deadline_seconds`. Then the
    query fails. Every executor reads the password from `password_file`, so the plan of the query does not contain the
    password. After a restart, the query writes uncommitted rows again, so Redis briefly returns older values. The
    connection has no TLS.
    """
    scala = scala_object(rows.sparkSession, SCALA, "alerts.ToRedis")
    writer = rows.writeStream
    frame = rows.select("key", "value")._jdf  # noqa: SLF001 - for Scala
    writer._jwrite = scala.of(frame, host, port, password_file, int(deadline_seconds * 1000))  # noqa: SLF001 - the same
    return writer
