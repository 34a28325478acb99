"""`prove --against` compares each job of `jobs/against.txt` with its cases, some of which have an injected fault."""

import json
import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from spark_rtm.cli import RTM
from spark_rtm.prove.against import schedule
from spark_rtm.prove.against.pair import Pair, started
from spark_rtm.prove.against.run import Options, compare, paired
from spark_rtm.prove.against.version import MAX_HOSTILE_BYTES, Listed, Version, is_short
from spark_rtm.prove.child import versions_of
from spark_rtm.prove.engine import Bench
from spark_rtm.prove.job import target
from spark_rtm.prove.records.samples import moved
from spark_rtm.testing.records import Sent
from tests.prove.judge import JOBS

pytestmark = pytest.mark.timeout(240)


@dataclass(frozen=True)
class Case:
    name: str
    old: str
    new: str
    status: str
    text: str
    most: int


def cases() -> list[Case]:
    _, *parts = re.split(r"^=== (.+)\n", (JOBS / "against.txt").read_text(), flags=re.MULTILINE)
    sections, found = dict(zip(parts[::2], parts[1::2], strict=True)), list[Case]()
    for name, text in sections.items():
        code, *each = re.split(r"^--- ", text, flags=re.MULTILINE)
        for case in each:
            head, _, edits = case.partition("\n")
            ((title, status, words, most),) = re.findall(r"^(.+?): (\w+) (.*) (\d+)$", head)
            job = sections["START"] + code + sections["END"]
            old, new = (job.replace("TRIGGER", trigger) for trigger in OLD_NEW)
            for before, after in re.findall(r"^- (.*)\n\+ ?(.*)$", edits, re.MULTILINE):
                old = old.replace(before, after) if edits.startswith(("OLD", "BOTH")) else old
                new = new if edits.startswith("OLD") else new.replace(before, after)
            found.append(Case(f"{name.removeprefix('job ')}: {title}", old, new, status, words, int(most)))
    return found


BAD = {
    "a missing file": (
        ("job.py", "none.py"),
        "'.*none.py' does not exist, so there is nothing to prove",
    ),
    "a folder": (("job.py", "folder.py"), "'.*folder.py' is not a file, so there is nothing to prove"),
    "another language": (("job.py", "Old.scala"), "--against compares two jobs; pass two files"),
    "a function": (("job.py:f", "job.py"), "--against compares two jobs; pass two files"),
    "a setting without a value": (("job.py", "job.py", "--old-conf", "x"), "--old-conf x: write KEY=VALUE"),
    "huge input": (("job.py", "job.py", "--samples", "a=huge.jsonl"), "--samples a: 10,001 records, .* at most 10,000"),
}


@pytest.mark.parametrize("words", BAD.values(), ids=BAD)
def test_wrong_arguments_are_named_before_a_server_starts(
    words: tuple[tuple[str, ...], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.py").write_text("def f(rows): ...")
    (tmp_path / "folder.py").mkdir()
    (tmp_path / "huge.jsonl").write_text("1\n" * 10_001)
    (new, old, *more), message = words

    with pytest.raises(ValueError, match=message):
        versions_of(RTM.parsed(["prove", new, "--against", old, *more])[1])


OLD_NEW = ('processingTime="1 second"', 'realTime="5 minutes"')
CASES = cases()
OLD_QUERY, NEW_QUERY = Listed(7, "totals", "", False, "out"), Listed(9, "totals", "realTime='5 minutes'", True, "out")
PATHS = (Path("old.py"), Path("new.py"))


@pytest.mark.parametrize(
    ("old", "new", "query", "message"),
    [
        (
            [OLD_QUERY],
            [OLD_QUERY],
            "",
            "new.py:7: the trigger is .default., so the new version is not in",
        ),
        ([NEW_QUERY], [NEW_QUERY], "", "old.py:9: the query already runs in real-time mode; pass the micro-batch"),
        ([OLD_QUERY], [NEW_QUERY], "counts", "new.py has no query 'counts'; pass the line or name of one"),
        ([OLD_QUERY, OLD_QUERY], [NEW_QUERY], "", "has no query that corresponds to the query on line 9 of new.py;"),
        ([], [NEW_QUERY], "", "corresponds to the query on line 9 of new.py; set the same queryName for both queries"),
    ],
    ids=["no real-time query", "no micro-batch query", "unknown name", "two with the name", "none"],
)
def test_queries_that_do_not_belong_together_are_named(
    old: list[Listed], new: list[Listed], query: str, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        paired(old, new, PATHS, query)


def test_query_is_compared_with_the_one_of_its_name() -> None:
    assert [(0, 1)] == paired([replace(OLD_QUERY, name="other", target=""), OLD_QUERY], [NEW_QUERY], PATHS)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-01-01 00:00:00", "2026-01-01 01:00:00"),
        ("2026-01-01T00:00:00.120Z", "2026-01-01T01:00:00.120Z"),
        ("2026-01-01T00:00:00+00:00", "2026-01-01T01:00:00+00:00"),
        ("2026-01-01", "2026-01-01"),
        ("a1", "a1"),
    ],
)
def test_time_moves_in_its_own_format(text: str, expected: str) -> None:
    record = Sent(b'{"at": "%b", "ts": 1767225600, "at_ms": 1767225600000, "n": 5}' % text.encode())

    fields = json.loads(moved(record, 3_600).value or b"")

    assert {"at": expected, "ts": 1767229200, "at_ms": 1767229200000, "n": 5} == fields


def test_hostile_record_of_the_longest_length_is_sent() -> None:
    lengths = (None, b"", b"x" * MAX_HOSTILE_BYTES, b"x" * (MAX_HOSTILE_BYTES + 1))
    assert [True, True, True, False] == [is_short(Sent(value)) for value in lengths]


def test_smallest_input_is_found() -> None:
    inputs = [schedule.Input("a", Sent(b"%d" % n), 0, schedule.GOOD) for n in range(20)]
    batches = [schedule.Batch("a", 0, tuple(inputs[:9])), schedule.Batch("a", 1, tuple(inputs[9:]))]

    found = schedule.smallest(batches, lambda tried: {inputs[3], inputs[11]} <= {*_all(tried)}, lambda: False)

    assert [inputs[3], inputs[11]] == found
    alone = [schedule.Batch("a", 0, (replace(inputs[0], kind=kind),)) for kind in (schedule.GOOD, schedule.LAST)]
    assert [False, True] == [batch.is_last for batch in alone]


def _all(batches: Sequence[schedule.Batch]) -> list[schedule.Input]:
    return [one for batch in batches for one in batch.inputs]


SAMPLES = [Sent(b'{"user": "b%d", "amount": 3.5, "at": "2026-01-01T00:00:00Z"}' % n) for n in (1, 1, 2)]


@pytest.mark.spark
@pytest.mark.services
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_versions_with_other_results_differ(
    case: Case, bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"BATCHES": 2, "MAX_HOSTILE": 4, "DUPLICATES": 2, "DEFAULT_DURATIONS": (60.0,)}.items():
        monkeypatch.setattr(schedule, name, value)
    topic, versions = uuid.uuid4().hex[:8], list[Version]()
    for name, code in (("old", case.old), ("new", case.new)):
        path = tmp_path / f"{name}.py"
        path.write_text(code.replace("TOPIC", topic).replace("OTHER", f"{topic}-other"))
        confs = dict(re.findall(r"--old-conf (\S+)=(\S+)", case.name)) if name == "old" else {}
        versions.append(Version(bench, target.load(str(path), confs=confs), is_new=name == "new"))
    pair = Pair((tmp_path / "old.py", tmp_path / "new.py"), versions, bench.kafka, tmp_path)
    try:
        samples = {f"against-{topic}": SAMPLES} if "samples" in case.name else {}
        key = tuple(name for names in re.findall(r"--key (\S+)", case.name) for name in names.split(","))
        (found,) = compare(pair, Options(samples, key, schedules=1), print)
    finally:
        for version in versions:
            version.kill()

    print(found.text, found.details)
    assert case.status == found.status, found.text
    assert re.search(".*".join(map(re.escape, case.text.split(" ... "))), found.evidence)
    assert len(found.details.get("input", ())) <= case.most


@pytest.mark.spark
@pytest.mark.services
def test_rows_that_are_repeated_after_a_kill_are_counted(tmp_path: Path) -> None:
    """Each version has its own process, which is killed before it commits a batch."""
    case = next(case for case in CASES if case.name == "windows: append mode")
    for name, code in (("old", case.old), ("new", case.new)):
        (tmp_path / f"{name}.py").write_text(code)
    jobs = target.load(str(tmp_path / "old.py")), target.load(str(tmp_path / "new.py"))

    with started(jobs, partitions=1, slots=0, packages=()) as pair:
        (found,) = compare(pair, Options(partitions=1, schedules=1), print)

    assert "good" == found.status, found
    assert re.search(r"the old version writes \d+ rows again, and the new version \d+; no row is lost", found.evidence)
