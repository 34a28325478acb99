import contextlib
import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql.types import StructType

from scripts.pack import files
from spark_rtm.cli import RTM
from spark_rtm.prove.checks.access import fetch, login, secrets_in
from spark_rtm.prove.checks.input import judged, outcome_of
from spark_rtm.prove.checks.restart import compared
from spark_rtm.prove.checks.slow import REPORTED_LENGTH, cases_of, search
from spark_rtm.prove.checks.state import STATEFUL_CALLS
from spark_rtm.prove.child import examined
from spark_rtm.prove.command import lost
from spark_rtm.prove.engine.bench import Bench
from spark_rtm.prove.job.target import Target, TargetError, load
from spark_rtm.prove.records.decoding import CSV, JSON, NONE, Decoding
from spark_rtm.prove.records.hostile import FORM, MISSING, NOTHING, TYPE, hostile_records
from spark_rtm.prove.records.samples import read_samples
from spark_rtm.prove.verdicts.failure import line_of_call
from spark_rtm.prove.verdicts.verdict import GOOD, UNCHECKED, WRONG, Verdict, exit_status, render, summary
from spark_rtm.testing.records import Received, Sent

VERDICTS = [
    Verdict("slots", GOOD, "2 task slots needed"),
    Verdict("input", WRONG, "3 kinds end the query", "use try_cast", "references/errors_in_rows.md", "job.py", 7),
]


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [([GOOD], 0), ([UNCHECKED, WRONG], 1), ([GOOD, UNCHECKED], 2)],
    ids=["all good", "wrong before unchecked", "unchecked"],
)
def test_exit_status_is_that_of_the_worst_verdict(statuses: list[str], expected: int) -> None:
    assert expected == exit_status([Verdict("mode", status, "") for status in statuses])


def test_verdicts_are_rendered_in_each_format() -> None:
    """The text has one line per verdict, JSON has the conditions, and annotations contain only what is not good."""
    content = json.loads(render(VERDICTS, "json", {"pyspark": "4.3.0"}))

    assert (
        "good      slots    2 task slots needed\n"
        "wrong     input    job.py:7: 3 kinds end the query; use try_cast; see references/errors_in_rows.md"
    ) == render(VERDICTS, "text", {})
    assert "2 verdicts: 1 good, 1 wrong" == summary(VERDICTS)
    assert {"pyspark": "4.3.0"} == content["conditions"]
    assert VERDICTS == [Verdict(**verdict) for verdict in content["verdicts"]]
    assert (
        "::error file=job.py,line=7,title=prove-input::on OSS 4.3, 3 kinds end the query; "
        "use try_cast (see references/errors_in_rows.md)"
    ) == render(VERDICTS, "github", {})
    assert "prove-input" == json.loads(render(VERDICTS, "sarif", {}))["runs"][0]["results"][0]["ruleId"]


GOOD_RECORD = Sent(b'{"id": "a", "amount": 5, "note": "n"}', b"k")
PAIR = StructType().add("id", "string").add("amount", "long")
READ = Decoding(JSON, StructType(PAIR.fields).add("note", "string"))


def test_hostile_records_cover_the_form_and_each_field() -> None:
    kinds = hostile_records(GOOD_RECORD, READ)
    records = {name: hostile.record for name, hostile in kinds.items()}

    assert {"a null value", "broken JSON", "bad UTF-8", "deep nesting", "a value of 1 MB", "a null key"} <= set(records)
    assert {"amount: text", "amount: NaN", "amount: a huge number", "id: an object", "no id"} <= set(records)
    assert b'"id": "again"}' in (records["a repeated field"].value or b"")
    assert b'"amount": 1e999999,' in (records["amount: a huge exponent"].value or b"")
    assert "no headers" not in records


def test_hostile_records_change_the_headers_of_a_query_that_reads_them() -> None:
    """Headers are missing, repeated, unknown or without a value; all other kinds keep them."""
    sample = replace(GOOD_RECORD, headers=(("trace", b"a1"),))
    headers = {name: hostile.record.headers for name, hostile in hostile_records(sample, READ).items()}

    assert () == headers.pop("no headers")
    assert (("unknown", b"a"),) == headers.pop("an unknown header")
    assert sample.headers * 2 == headers.pop("repeated headers")
    assert [b"", None, b"\xff\xfe"] == [
        headers.pop(f"headers: {kind}")[0][1] for kind in ("empty", "null", "bad UTF-8")
    ]
    assert {sample.headers} == set(headers.values())


@pytest.mark.parametrize(
    ("value", "decoding", "kind", "breaks"),
    [
        (GOOD_RECORD.value, READ, "broken JSON", FORM),
        (GOOD_RECORD.value, READ, "amount: text", TYPE),
        (GOOD_RECORD.value, READ, "no note", MISSING),
        (b'{"id": "a", "unread": 5}', READ, "no unread", NOTHING),
        (b'{"amount": 5}', Decoding("other"), "amount: text", TYPE),
        (b"a;5", Decoding(CSV, PAIR, ";"), "amount: text", TYPE),
        (b"a;5", Decoding(CSV, PAIR, ";"), "one column", FORM),
    ],
)
def test_kind_breaks_what_its_reader_loses(value: bytes, decoding: Decoding, kind: str, breaks: str) -> None:
    """A kind is broken if the reader finds no field, a value of a wrong type, or no value for a field."""
    assert breaks == hostile_records(Sent(value), decoding)[kind].breaks


FIELDS = ("id", "amount", "note")


def _parsed(record: Sent) -> dict[str, object]:
    """Return the fields of `from_json`: null for unreadable ones."""
    try:
        found = json.loads(record.value or b"")
    except (ValueError, RecursionError):
        found = None
    found = found if isinstance(found, dict) else {}
    values = {name: found.get(name) for name in FIELDS}
    is_number = isinstance(values["amount"], int) and values["amount"] is not True and values["amount"] < 2**63
    return {**values, "amount": values["amount"] if is_number else None}


def _passing(*names: str) -> Callable[[Sent], Received]:
    """Return a job that rejects records without the fields `names`."""

    def job(record: Sent) -> Received:
        fields = _parsed(record)
        if any(fields[name] is None for name in names):
            text = None if record.value is None else record.value.decode(errors="replace").encode()
            return Received("rejected", None, text, (), 0)
        return Received("good", None, json.dumps(fields).encode(), (), 0)

    return job


def _marking(record: Sent) -> Received:
    fields = _parsed(record)
    corrupt = None if all(fields.values()) else (record.value or b"").decode(errors="replace")
    return Received("all", None, json.dumps({**fields, "corrupt": corrupt}, ensure_ascii=False).encode(), (), 0)


JOBS: dict[str, tuple[Callable[[Sent], Received], str, str]] = {
    "checks nothing": (_passing(), WRONG, 'of which 28 are broken: a null value (null), no id ({"amount": 5, '),
    "checks each field": (_passing("id", "amount", "note"), GOOD, ", 0 broken"),
    "has an optional field": (_passing("id", "amount"), GOOD, ", 0 broken"),
    "checks no type": (_passing("id"), WRONG, "of which 10 are broken: amount: NaN ("),
    "marks bad records": (_marking, GOOD, ", 0 broken"),
}


@pytest.mark.parametrize("name", JOBS)
def test_broken_records_must_not_come_out_as_good_results(name: str) -> None:
    job, status, evidence = JOBS[name]
    kinds = hostile_records(GOOD_RECORD, READ)
    records = {kind: hostile.record for kind, hostile in kinds.items()}
    outcome = outcome_of(records, {kind: [job(r)] for kind, r in records.items()}, [(GOOD_RECORD, job(GOOD_RECORD))])

    (verdict,) = judged(outcome, kinds)

    assert status == verdict.status, verdict.text
    assert f"{len(kinds)} kinds of hostile record tried: {len(outcome.rejected)} rejected" in verdict.evidence
    assert evidence in verdict.evidence
    assert status == GOOD or "reject topic" in verdict.fix


def test_echo_of_bytes_is_not_blamed_for_broken_records() -> None:
    kinds = hostile_records(GOOD_RECORD, Decoding(NONE))
    records = {kind: hostile.record for kind, hostile in kinds.items()}
    echoed = {kind: [Received("good", r.key, r.value, (), 0)] for kind, r in records.items()}
    outcome = outcome_of(records, echoed, [(GOOD_RECORD, echoed["trailing text"][0])])

    (verdict,) = judged(outcome, kinds, "the query does not decode its records")

    assert GOOD == verdict.status
    assert f"0 dropped silently, {len(kinds)} accepted as good, none makes the query fail; the qu" in verdict.evidence


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ('password = "geheim-1"', {"geheim-1": 1}),
        ('x.option("kafka.ssl.key.password", "geheim-1")', {"geheim-1": 1}),
        ('{"sasl.jaas.config": "Module required password=\'geheim-1\';"}', {"geheim-1": 1}),
        ('password = os.environ["PASSWORD"]', {}),
        ('dbutils.secrets.get("scope", "password")', {}),
        ('password = "<insert-password-here>"', {}),
    ],
)
def test_passwords_in_code_are_found_with_their_line(code: str, expected: dict[str, int]) -> None:
    """A text assigned to a name such as `password` is a secret, but not a value from the environment."""
    assert expected == secrets_in(code)


@pytest.mark.parametrize(
    ("code", "default", "expected"),
    [
        ("a = 1\nb.groupBy('k')\n", 1, 2),
        ("b.groupBy('k')\na = 1\n", 2, 1),
        ("a = 1\n", 1, 1),
        ("a = b.groupBy('k')\na.start()\n# b.groupBy('k')\nb.groupBy('k')\n", 2, 1),
        ("a.groupBy('k')\ndef f(b):\n  # b.groupBy('k')\n  b.groupBy('k')\n", 2, 4),
    ],
    ids=["below the function", "above the function", "nowhere", "above the start", "not in a comment"],
)
def test_line_of_a_call_is_searched_below_the_function_first(
    code: str, default: int, expected: int, tmp_path: Path
) -> None:
    path = tmp_path / "job.py"
    path.write_text(code)

    assert expected == line_of_call(path, STATEFUL_CALLS, default)


@pytest.mark.parametrize(
    ("code", "target", "message"),
    [
        ("def f(rows, size: int): ...", "job.py:f", "nor dataclasses with a default for every field: size; bind"),
        ("def f(): ...", "job.py:f", "takes no DataFrame"),
        ("def f(rows): ...", "job.py:g", "has no function 'g'; it defines f"),
        ("import no_such_package", "job.py:f", "ModuleNotFoundError"),
        ("", "missing.py", "does not exist"),
        ("", "job", "names neither a file nor a function"),
    ],
)
def test_target_that_cannot_be_loaded_is_explained(code: str, target: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(code)
    with contextlib.chdir(tmp_path), pytest.raises(TargetError, match=message):
        load(target)


SETTINGS = """\
import functools
from dataclasses import dataclass

@dataclass(frozen=True)
class Settings:
    limit: int = 5

def f(rows, settings: Settings, size: int, rules=None):
    return rows, settings.limit, size

proved = functools.partial(f, size=3)
"""


def test_settings_are_created_and_bound_arguments_are_kept(tmp_path: Path) -> None:
    """A dataclass with defaults needs no argument, and `functools.partial` binds values for other parameters."""
    (tmp_path / "job.py").write_text(SETTINGS)

    loaded = load(f"{tmp_path}/job.py:proved")

    assert isinstance(loaded, Target)
    assert ("rows", (), 8) == (loaded.stream, loaded.tables, loaded.line)
    assert "('stream', 5, 3)" == str(loaded.transform("stream"))


A, B = (Received("", None, value, (), 0) for value in (b"a", b"b"))


@pytest.mark.parametrize(
    ("before", "again", "expected", "status", "evidence"),
    [
        ([A, B], [A, B, A, B], 4, GOOD, "0 results lost, 2 uncommitted results written again, byte for byte identical"),
        ([A], [A, B], 0, GOOD, "0 results lost, 1 unc"),
        ([A, B], [A], 2, WRONG, "1 results lost"),
        ([A], [B, A, A], 2, WRONG, "the uncommitted records have 2 results, but the restart wrote 3"),
        ([A, B], [A, A], 2, WRONG, "1 of them with different bytes"),
    ],
    ids=["written again", "unknown number", "lost", "committed", "other bytes"],
)
def test_results_before_and_after_a_kill_are_compared(
    before: list[Received], again: list[Received], expected: int, status: str, evidence: str
) -> None:
    """Each uncommitted result must be written again with the same bytes."""
    verdict = compared(before, again, expected)

    assert status == verdict.status
    assert evidence in verdict.evidence


def _seconds(power: float, field: str = "note", machine: float = 1.0) -> Callable[[Sequence[Sent], float], float]:
    """Return a clock for a query that needs `length ** power` nanoseconds for a text in `field`."""

    def clock(records: Sequence[Sent], limit: float) -> float:
        total = 0.1
        for record in records:
            total += 1e-8 * len(record.value or b"")
            with contextlib.suppress(ValueError, AttributeError, RecursionError):
                total += len(json.loads(record.value or b"").get(field, "")) ** power * 1e-9
        return total * machine if total * machine < limit else math.inf

    return clock


@pytest.mark.parametrize(
    ("clock", "fields", "length"),
    [
        (_seconds(2), ["note"], REPORTED_LENGTH),
        (_seconds(6), ["note"], 1_000),
        (_seconds(1, machine=30), [], 0),
        (_seconds(2, field="unread"), [], 0),
    ],
    ids=["quadratic", "endless", "slow machine", "field that is not read"],
)
def test_long_text_that_needs_seconds_is_found(
    clock: Callable[[Sequence[Sent], float], float], fields: list[str], length: int
) -> None:
    """A field is slow if a long text needs much longer than a control record of the same size."""
    found = search(list(cases_of(GOOD_RECORD, READ)), clock)

    assert fields == [slow.case.field for slow in found.slow]
    assert [length] * len(fields) == [slow.length for slow in found.slow]
    assert all(slow.seconds > 10 * slow.control_seconds for slow in found.slow)
    assert ({}, 1_000_000) == (found.ends, found.tried)
    assert 5 == found.fields  # three fields, the key and the whole value


def test_search_for_slow_fields_ends_in_time() -> None:
    calls = list[int]()

    def clock(records: Sequence[Sent], limit: float) -> float:
        calls.append(len(records))
        if len(calls) > 6:
            raise TimeoutError
        is_slow = len(records[0].value or b"") > 5_000 and b"unread" not in (records[0].value or b"")
        return math.inf if is_slow else 0.1

    found = search(list(cases_of(GOOD_RECORD, READ)), clock)

    assert 4_000 == found.tried
    assert "strings of up to 4,000 characters tried in 5 places" == found.text


PLAIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="p";'


@pytest.mark.parametrize(
    ("options", "called"),
    [
        ({"jaas.config": "com.sun.security.auth.module.Krb5LoginModule required;"}, "a login module"),
        ({"jaas.config": PLAIN, "oauthbearer.token.endpoint.url": "https://id.example.org"}, "https://id.example.org"),
        ({"jaas.config": PLAIN, "login.callback.handler.class": "com.example.Handler"}, "com.example.Handler"),
    ],
)
def test_login_that_would_call_an_identity_provider_is_not_tried(options: dict[str, str], called: str) -> None:
    """The verdict needs neither Spark nor a broker, so the login is not sent."""
    sasl = {f"kafka.sasl.{name}": value for name, value in options.items()}

    verdict = login(Bench(None, "", Path()), sasl, "topic", "job.py", 1)  # type: ignore[arg-type]

    assert verdict
    assert UNCHECKED == verdict.status
    assert called in verdict.evidence
    assert "--side-effects" in verdict.fix


def test_fetch_that_waits_briefly_is_a_setting_for_throughput() -> None:
    assert not fetch({"kafka.fetch.min.bytes": "100000", "kafka.fetch.max.wait.ms": "5"}, "job.py", 7)


STUCK = """\
while True:
    try:
        pass
    except BaseException:
        pass
"""
LIMITED = """\
from spark_rtm.prove.job import runner

runner.limit_seconds = 0.2
with runner._limited():
    exec(compile(open("job.py").read(), "/shop/job.py", "exec"))
"""


def test_job_that_catches_everything_ends_at_its_limit(tmp_path: Path) -> None:
    """A retry around everything cannot keep `prove` alive; the log of the process has the line."""
    (tmp_path / "job.py").write_text(STUCK)
    command, env = [sys.executable, "-c", LIMITED], {**os.environ, "PYTHONPATH": str(files.ROOT)}

    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False, timeout=60)

    assert 1 == done.returncode
    reason = lost(done.stderr, "src/job.py", done.returncode)
    assert re.match(
        r"src/job\.py:[1-5]: the job was still running after 300 s and did not wait for a query; prove", reason
    )


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (("--rate", "inf"), "--rate: use a finite number above 0"),
        (("--only", "everything"), "--only everything: use some of lint,login,slots"),
        (("--conf", "x"), "--conf x: write KEY=VALUE"),
        (("--samples", "orders=orders.jsonl"), "--samples orders=orders.jsonl: write NAME=FILE.jsonl; NAME is rows"),
    ],
)
def test_wrong_option_is_named_before_a_server_starts(option: tuple[str, str], message: str, tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text("def f(rows): ...")
    words = ["prove", f"{tmp_path}/job.py:f", *option]

    with pytest.raises(ValueError, match=message):
        examined(RTM.parsed(words)[1])


def test_sample_that_is_nested_too_deeply_is_named(tmp_path: Path) -> None:
    (tmp_path / "deep.jsonl").write_text("[" * 100_000)

    with pytest.raises(ValueError, match="has a record that is nested too deeply"):
        read_samples(tmp_path / "deep.jsonl")
