"""The checks of `rtm doctor` about a job: the settings of its session, its task slots and its checkpoint."""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from spark_rtm.commands.slots import Query
from spark_rtm.doctor import Options
from spark_rtm.doctor.kafka import FINE, PROBLEM, SKIPPED, Result
from spark_rtm.doctor.machine import FLAG, MASTER, settings_in
from spark_rtm.inspect.files.folder import SCHEME, UnreadableError
from spark_rtm.inspect.inspection import inspect
from spark_rtm.lint.engine import lint_text
from spark_rtm.text.finding import DATABRICKS

SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"
AS_USER = "change its permissions, or run this command as the user of the job"


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
