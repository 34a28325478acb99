"""
Run an object store on this machine: S3Proxy, an HTTP server with the API of Amazon S3.

Its objects are in memory, so a measurement contains the requests and their processing, but no disk and no network.
"""

import base64
import hashlib
import hmac
import secrets
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from spark_rtm.services import packages
from spark_rtm.services.child import free_ports, start_child, wait_until_ready
from spark_rtm.services.files.run_folder import new_folder
from spark_rtm.services.java import java_home

IVY_FILES = Path(__file__).parent / "ivy"
BUCKET = "checkpoints"
IDENTITY = "benchmark"
SECRET_BYTES = 16
START_TIMEOUT_SECONDS = 60.0
REQUEST_TIMEOUT_SECONDS = 5.0
LOG_SETTINGS = """\
<configuration>
  <appender name="output" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%d %level %logger{0} %msg%n</pattern></encoder>
  </appender>
  <root level="WARN"><appender-ref ref="output"/></root>
</configuration>
"""


@dataclass(frozen=True)
class ObjectStore:
    """A running object store with one bucket."""

    endpoint: str
    secret: str = field(repr=False)

    @property
    def url(self) -> str:
        """Return the URL of the bucket for Hadoop's file system S3A."""
        return f"s3a://{BUCKET}"

    def confs(self) -> dict[str, str]:
        """Return the settings with which Spark connects to the store, without the secret."""
        settings = {
            "endpoint": self.endpoint,
            "endpoint.region": "us-east-1",
            "path.style.access": "true",
            "connection.ssl.enabled": "false",
            "access.key": IDENTITY,
            # The default is for Parquet files, which a checkpoint does not contain.
            "input.stream.type": "classic",
        }
        return {f"spark.hadoop.fs.s3a.{name}": value for name, value in settings.items()}

    def log_in(self, spark: SparkSession) -> None:
        """Give a session the secret, which every user of this machine could read among the options of its start."""
        context: Any = spark.sparkContext
        context._jsc.hadoopConfiguration().set("fs.s3a.secret.key", self.secret)  # noqa: SLF001 - not public

    def create_bucket(self) -> None:
        """Create the bucket; S3A cannot create one."""
        date = formatdate(usegmt=True)
        text = f"PUT\n\n\n{date}\n/{BUCKET}"
        signature = base64.b64encode(hmac.new(self.secret.encode(), text.encode(), hashlib.sha1).digest()).decode()
        headers = {"Date": date, "Authorization": f"AWS {IDENTITY}:{signature}"}
        request = urllib.request.Request(f"{self.endpoint}/{BUCKET}", method="PUT", headers=headers)
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        direct.open(request, timeout=REQUEST_TIMEOUT_SECONDS).close()


def client_jars() -> tuple[Path, ...]:
    """Return the jars with which Spark reads and writes `s3a://` URLs."""
    return packages.jars(IVY_FILES / "s3a.xml")


@contextmanager
def object_store() -> Iterator[ObjectStore]:
    """Start a store with a new secret and an empty bucket, and stop it when the `with` block ends."""
    folder = new_folder("s3")
    [port] = free_ports(1)
    store = ObjectStore(f"http://127.0.0.1:{port}", secrets.token_hex(SECRET_BYTES))
    log_settings, properties = folder / "logback.xml", folder / "s3proxy.properties"
    log_settings.write_text(LOG_SETTINGS)
    # Every user of this machine can read the command line of a process, so the secret is in a file.
    properties.touch(mode=0o600)
    properties.write_text(
        f"s3proxy.endpoint={store.endpoint}\ns3proxy.authorization=aws-v2-or-v4\ns3proxy.identity={IDENTITY}\n"
        f"s3proxy.credential={store.secret}\njclouds.provider=transient\njclouds.identity=unused\n"
        "jclouds.credential=unused\n"
    )
    class_path = ":".join(map(str, packages.jars(IVY_FILES / "s3proxy.xml")))
    java = [str(java_home() / "bin" / "java"), "-Xmx512m", f"-Dlogback.configurationFile={log_settings}"]
    command = [*java, "-cp", class_path, "org.gaul.s3proxy.Main", "--properties", str(properties)]
    server = start_child("S3Proxy", command, log_path=folder / "s3proxy.log")
    try:
        wait_until_ready(server, lambda: _has_bucket(store), START_TIMEOUT_SECONDS)
        yield store
    finally:
        server.stop()


def _has_bucket(store: ObjectStore) -> bool:
    try:
        store.create_bucket()
    except OSError:
        return False
    return True
