"""Run `rtm doctor`: read the job's options, run the checks, and print each result as soon as it is known."""

import json
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from spark_rtm.doctor import VARIABLES, Options
from spark_rtm.doctor.checks import checkpoints, connector, flag, java, pyspark, runtime, session, slots
from spark_rtm.doctor.kafka import FINE, PROBLEM, SKIPPED, Result, of_kafka
from spark_rtm.program import UsageError
from spark_rtm.realtime.login import login_of_environment
from spark_rtm.text.finding import DATABRICKS, OSS, printable

COLORS = {FINE: "32", PROBLEM: "31", SKIPPED: "33"}
OPTION = re.compile(
    r"\s*((?:kafka|spark|sasl|ssl|security|bootstrap)\.[\w.-]+|subscribe|topic|checkpointLocation)"
    r"(?:\s*[=:]\s*|\s+|$)(.*?)\s*"
)
"""Pattern for a line of `spark-defaults.conf`, of the Spark config of a Databricks cluster, or of a properties file."""
MAX_BYTES = 1_000_000


def run(options: Options) -> int:
    """Run the checks, print the result of each as soon as it is known, and return the exit status."""
    given = settings_of(options.files)
    has_colors = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    results = list[Result]()
    for result in checked(options, given):
        results.append(result)
        if not options.json:
            print(_line(result, has_colors=has_colors), flush=True)
    found = Counter(result.status for result in results)
    problems = f"{found[PROBLEM]} problem{'' if found[PROBLEM] == 1 else 's'}"
    counts = f"{found[FINE]} fine, {problems}, {found[SKIPPED]} not checked"
    print(json.dumps([asdict(result) for result in results], indent=2) if options.json else counts)
    return 1 if found[PROBLEM] else 0


def _line(result: Result, *, has_colors: bool) -> str:
    status, remedy = f"{result.status:12}", f"; {result.remedy}" if result.remedy else ""
    shown = f"\x1b[{COLORS[result.status]}m{status}\x1b[0m" if has_colors else status
    return f"{shown}{result.check:11} {printable(result.text + remedy)}"


def settings_of(files: Sequence[Path]) -> dict[str, str]:
    """Return the job's options by name. Options in files override those from the environment."""
    given = {name: os.environ[variable] for variable, name in VARIABLES.items() if os.environ.get(variable)}
    with suppress(ValueError):  # `checked` reports it
        given |= login_of_environment()[0]
    for path in files:
        given |= _options_in(path)
    return given


def _options_in(path: Path) -> dict[str, str]:
    given = {}
    for number, line in enumerate(_lines(path), 1):
        if match := OPTION.fullmatch(line):
            is_complete = re.match(r"kafka\.|spark\.|\w+$", match[1])
            given[match[1] if is_complete else f"kafka.{match[1]}"] = match[2]
        elif line.strip() and not line.lstrip().startswith(("#", "!")):
            # The line may contain a password, so it is not printed.
            problem = f"line {number} of {path} is not an option of Kafka or Spark in the form NAME=VALUE"
            raise UsageError(f"{problem}, so nothing was checked; correct the line")
    return given


def _lines(path: Path) -> list[str]:
    try:
        if not path.is_file():
            problem = "is not a file" if path.exists() else "does not exist"
            raise UsageError(f"{path} {problem}, so nothing was checked; pass a file with options of the job")
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise UsageError(f"{path} has more than {MAX_BYTES:,} bytes, so nothing was checked; pass only options")
        return data.decode("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        problem = getattr(error, "strerror", None) or "it is not encoded in UTF-8"
        raise UsageError(f"{path} cannot be read ({problem}), so nothing was checked; correct the file") from None


def checked(options: Options, given: Mapping[str, str]) -> Iterator[Result]:
    """Yield the results of all checks."""
    python = ".".join(map(str, sys.version_info[:3]))
    yield Result("python", FINE, f"Python {python} ({sys.executable})")
    if version := os.environ.get("DATABRICKS_RUNTIME_VERSION"):
        yield from (runtime(version), flag(given))
    else:
        yield from (java(), pyspark(), connector(given))
    yield from session(given, DATABRICKS if version else OSS)
    sources = options.source or _listed(given.get("subscribe", ""))
    targets = options.target or _listed(given.get("topic", ""))
    partitions = dict[str, int]()
    try:
        if "kafka.security.protocol" not in given:  # a file may contain the login instead
            login_of_environment()
    except ValueError as error:
        yield Result("kafka", PROBLEM, *str(error).split("; "))
    else:
        yield from of_kafka(given, sources, targets, partitions)
    yield slots(options, given, partitions)
    yield from checkpoints(options.checkpoint or given.get("checkpointLocation", ""))


def _listed(text: str) -> tuple[str, ...]:
    return tuple(word for word in re.split(r"[,\s]+", text) if word)
