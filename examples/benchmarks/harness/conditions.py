"""Describe the conditions of a measurement: machine, software versions and options."""

import os
import platform
import subprocess
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import psutil

from examples.benchmarks.harness.cli import BenchmarkOptions
from examples.services import connector, java_home
from examples.services.packages import broker_jars


def conditions(options: BenchmarkOptions) -> dict[str, Any]:
    """Return the conditions that affect the results of all engines. The settings of each engine are not included."""
    values = {name: value for name, value in asdict(options).items() if name not in {"filter", "publish"}}
    values["duration_seconds"] = values.pop("duration")
    if isinstance(values.get("rate"), tuple):
        values["rates"] = values.pop("rate")
    return {**machine(), **values}


def machine() -> dict[str, Any]:
    """Return the date, the size of the machine, and the software versions."""
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
    output = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    return next(line.split('"')[1] for line in output.splitlines() if "version" in line)
