"""Describe the machine and the software versions used for a measurement."""

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import psutil

from spark_rtm.services import broker_jars, connector, java_home


def describe_machine() -> dict[str, Any]:
    """Return the date, the machine and the versions of Java, Python, Spark and Kafka."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "cores": psutil.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 2**30),
        "system": f"{platform.system()} {platform.machine()}",
        "java": _java_version(),
        "java_options": os.environ.get("JDK_JAVA_OPTIONS", ""),
        "python": platform.python_version(),
        "pyspark": version("pyspark"),
        "kafka_connector": connector().version,
        "kafka_broker_and_clients": next(
            jar.stem.removeprefix("kafka-clients-") for jar in broker_jars() if jar.stem.startswith("kafka-clients-")
        ),
    }


def _java_version() -> str:
    command = [str(java_home() / "bin" / "java"), "-version"]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    return next(line.split('"')[1] for line in answer.stderr.splitlines() if "version" in line)
