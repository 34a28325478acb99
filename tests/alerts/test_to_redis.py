"""The Redis sink against a real server: rows within the batch, an outage, and a wrong password."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from examples.alerts.job import Options, read_stream
from examples.alerts.to_redis import to_redis
from spark_rtm.kafka.topics import ensure_topics
from spark_rtm.realtime.proof import assert_real_time
from spark_rtm.services.child import free_ports
from tests.alerts.helpers import send
from tests.helpers import eventually, program

pytestmark = [pytest.mark.spark, pytest.mark.services]

PASSWORD = "a-secret-of-the-test"


class Redis:
    def __init__(self, folder: Path) -> None:
        [self.port] = free_ports(1)
        self._folder = folder
        (folder / "password").write_text(PASSWORD + "\n")
        (folder / "redis.conf").write_text(
            f"bind 127.0.0.1\nport {self.port}\nrequirepass {PASSWORD}\ndir {folder}\n"
            "save ''\nappendonly yes\nappendfsync always\n"
        )

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run the server, and kill it at the end like `kill -9`; confirmed rows are on the disk."""
        command = [program(["redis-server"], "it did not check the Redis sink", "redis-server")]
        with subprocess.Popen([*command, str(self._folder / "redis.conf")], stdout=subprocess.DEVNULL) as process:
            try:
                eventually(lambda: self.ask("ping") == "PONG", 30, "the start of Redis")
                yield
            finally:
                process.kill()

    def ask(self, *words: str) -> str:
        command = ["redis-cli", "-p", str(self.port), *words]
        environment = {**os.environ, "REDISCLI_AUTH": PASSWORD}
        return subprocess.run(command, env=environment, capture_output=True, check=False).stdout.decode().strip()


def started(spark: SparkSession, options: Options, redis: Redis, password: Path) -> StreamingQuery:
    ensure_topics(options.bootstrap_servers, [f"{options.topic_prefix}alerts"], 1)
    rows = read_stream(spark, options, "alerts").selectExpr("cast(key as string) key", "cast(value as string) value")
    writer = to_redis(rows, "127.0.0.1", redis.port, str(password), 20).outputMode("update").queryName(password.name)
    writer = writer.option("checkpointLocation", f"{options.checkpoint_dir}/{password.name}-state")
    query: StreamingQuery = writer.trigger(realTime="5 minutes").start()  # type: ignore[call-overload]
    return query


def test_redis_has_the_newest_values_over_an_outage(spark: SparkSession, options: Options, tmp_path: Path) -> None:
    """Rows arrive in Redis before their batch ends, even after an outage. A wrong password makes the query fail."""
    redis, wrong = Redis(tmp_path), tmp_path / "wrong"
    wrong.write_text("another-secret")
    with redis.running():
        query = started(spark, options, redis, tmp_path / "password")
        send(options, "alerts", [(b"k1", b"old"), (b"k1", "nöw\r\n$3".encode()), (b"k2", b"gone"), (b"k2", None)])
        send(options, "alerts", [(f"n{n}".encode(), b"%d" % n) for n in range(2_000)])
        eventually(lambda: redis.ask("get", "n1999") == "1999", 60, "the rows before the outage")
        found = [redis.ask("--raw", "get", "k1"), redis.ask("exists", "k2"), redis.ask("dbsize")]
    send(options, "alerts", [(b"k2", b"back"), (b"last", b"1")])
    with redis.running():
        eventually(lambda: redis.ask("get", "last") == "1", 60, "the rows during the outage")
        found += [redis.ask("get", "k2"), redis.ask("dbsize")]
        assert_real_time(query)
        refused = started(spark, options, redis, wrong)
        eventually(lambda: not refused.isActive, 60, "the end of the query")

    assert ["nöw\r\n$3", "0", "2001", "back", "2003"] == found
    assert query.lastProgress is None
    assert f"Redis at 127.0.0.1:{redis.port} refused the password with WRONGPASS" in str(refused.exception())
    assert "secret" not in str(refused.exception())
