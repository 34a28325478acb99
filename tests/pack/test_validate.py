import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import jsonschema
import pytest

from scripts.pack import files
from scripts.pack.checks.commands import check_commands
from scripts.pack.checks.coordinates import check_coordinates
from scripts.pack.checks.evidence import check_evidence, check_sentences
from scripts.pack.checks.fences import check_blocking, check_fences
from scripts.pack.checks.links import check_links, check_orphans
from scripts.pack.checks.owners import check_owners
from scripts.pack.manifest import SCHEMA
from scripts.pack.validate import CHECKS, check_advice, check_generated
from scripts.skills import main
from spark_rtm.text.finding import Finding

Check = Callable[[Path], Iterator[Finding]]
Fault = tuple[str, str, str, str] | tuple[str, str, str, str, str]
PAGE, LOST, STATE = "references/real_time_mode.md", "references/lost.md", "references/state.md"
DEMO = "references/measured/demo.json"
SETTINGS = "examples/attribution/settings.py"
SKILL, MANIFEST = files.SKILL, files.MANIFEST
TICKS = "```"
ROWS = "\n| what | evidence |\n|---|---|\n| "
SILENT = "[set here](../examples/attribution/pipeline.py)"
SOURCE = "[x](https://spark.apache.org)"


def fence(opening: str, code: str = "x") -> str:
    return f"\n{TICKS}{opening}\n{code}\n{TICKS}\n"


FAULTS: list[tuple[Check, list[Fault]]] = [
    (
        check_generated,
        [
            ("out of date.*newest_it", "references/joins.md", "def newest", "def newest_it"),
            ("out of date: contains '  *\"LICENCE", MANIFEST, '"LICENSE"', '"LICENCE"'),
        ],
    ),
    (check_generated, [("unknown generated part", PAGE, "", "<!-- generated: no -->\n<!-- end -->\n")]),
    (
        check_blocking,
        [
            ("make services", SKILL, "until Ctrl-C", "for trials"),
            ("notify lifts.* blocks", "references/alerts.md", "runs until Ctrl-C; reads", "reads"),
            (r"keep\(.* blocks", "references/production.md", " The job's last call, `keep`, blocks.", ""),
        ],
    ),
    (
        check_coordinates,
        [
            ("spark-avro_2.13:4.3.0 may not .*avro_2.13:4.1.1", PAGE, "", "\norg.apache.spark:spark-avro_2.13:4.3.0\n"),
            ("no version of it", PAGE, "", "\norg.apache.spark:spark-protobuf_2.13:4.1.1\n"),
            ("clients:9", SETTINGS, "", "\n# org.apache.kafka:kafka-clients:9.0.0\n"),
        ],
    ),
    (
        check_owners,
        [
            ("its owner, kafka_patterns.md", PAGE, "", "\nThe sink has a limit of 1 MiB.\n"),
            ("its owner, control.md", PAGE, "", "\nOn OSS, `stop()` does not wait for a commit.\n"),
            ("its owner, state.md", PAGE, "", "\nOSS 4.3.0 refuses Python functions.\n"),
            (
                "a message states the deleted records .* without naming its owner, errors",
                "spark_rtm/inspect/findings.py",
                "errors_kafka.md",
                "errors.md",
            ),
            ("the producer buffer, which it owns", "references/kafka_patterns.md", "buffer of 32 MB", "buffer"),
        ],
    ),
    (
        check_evidence,
        [
            ("does not contain any name from", "references/tuning.md", "", f"{ROWS}`kafka.linger.ms` | {SILENT} |\n"),
            ("has no evidence", PAGE, "", f"{ROWS}a | |\n"),
            ("without a date", PAGE, "", f"{ROWS}a | {SOURCE} 2026-11-20 |\n"),
            ("link 'y', which the page does not", PAGE, "", f"{ROWS}a | [test](errors.md), [x][y] |\n"),
            ("no column", PAGE, "", "\n| what | OSS 4.3.0 |\n|---|---|\n| a | b |\n"),
        ],
    ),
    (check_sentences, [("all rows of a table", "references/execution_modes.md", "sink ([test]).", "sink.")]),
    (
        check_commands,
        [
            ("`make bench-price` does", PAGE, "", "\nRun `make bench-price PUBLISH=1`, or make one.\n"),
            ("`make bench-old` does", STATE, "", fence("bash", "RATE=2 make bench-old")),
            ("`python -m benchmarks price` does", "README.md", "", "\n`python -m benchmarks price`\n"),
            ("`python -m examples.attribution.gone` does", DEMO, '"make demo', '"python -m examples.attribution.gone'),
            ("`rtm inspekt` does", PAGE, "", "\nRun `rtm inspekt OLD`, not `rtm inspect OLD`.\n"),
            ("`make bench-chart` does", "references/measured/demo.svg", "", "<text>make bench-chart</text>"),
        ],
    ),
    (
        check_links,
        [
            ("'nowhere.md' does not exist", PAGE, "", "\n[x](nowhere.md)\n"),
            ("does not exist in errors.md", PAGE, "", "\n[x](errors.md#nowhere)\n"),
            ("outside the repository", PAGE, "", "\n[x](../../secret.md)\n"),
            ("not exist in README.md", "SECURITY.md", "", "\n[x](README.md#no)\n"),
            ("appears twice", PAGE, "", "\n## When to use real-time mode\n"),
        ],
    ),
    (
        check_orphans,
        [
            (r"no line `\*Read when", PAGE, "*Read when", "*Look when"),
            ("does not link to a test", LOST, "", "# Lost\n\n*Read when lost.*\n"),
            ("not linked from a page", "examples/real_time_mode.py", "", '"""Lost."""\n'),
            ("does not link to its module", "examples/real_time_mode.py", "", "A = 1\n", PAGE),
        ],
    ),
    (
        check_fences,
        [
            ("language 'pythn'", PAGE, "", fence("pythn")),
            ("outside braces", PAGE, "", fence('python raises="X"')),
            ("unknown options: raise", PAGE, "", fence('python {raise="X"}')),
            ("is not valid Python", PAGE, "", fence("python", "x = = 1")),
            ("more than one of", PAGE, "", fence('python {raises="X" requires="databricks"}')),
            ("requires 'luck'", PAGE, "", fence('python {requires="luck"}')),
            ("mode 'fast'", PAGE, "", fence('python {mode="fast"}')),
            ("require Databricks", PAGE, "", fence('python {requires="databricks"}') * 60),
        ],
    ),
    (
        check_advice,
        [
            ("True", PAGE, '(realTime="5 minutes")\n    .start', "(realTime=True)\n    .start"),
            (
                "True|no output mode",
                SETTINGS,
                "",
                "\ndef start(w):\n    w.writeStream.trigger(realTime=True).start()\n",
            ),
        ],
    ),
]
"""
For each check: the reported problem, the changed file, the replaced text, and the new text.

Without a replaced text, the new text is added to the end. The last value is the reported file if it is another one.
"""


@pytest.mark.parametrize(("check", "faults"), FAULTS)
def test_faults_are_found_with_file_and_remedy(copied: Path, check: Check, faults: list[Fault]) -> None:
    for _, name, old, new, *_ in faults:
        text = (copied / name).read_text(encoding="utf-8") if (copied / name).is_file() else ""
        assert old in text, f"{name} no longer contains {old!r}"
        (copied / name).write_text(text.replace(old, new) if old else text + new, encoding="utf-8")

    findings = list(check(copied))

    expected = [(problem, (*place, name)[0]) for problem, name, _, _, *place in faults]
    found = [[each for each in findings if re.search(text, each.message) and each.path == at] for text, at in expected]
    assert [] == [fault for fault, matches in zip(expected, found, strict=True) if not matches], findings
    assert set(findings) == {finding for matches in found for finding in matches}
    assert all(finding.line >= 1 and finding.fix for finding in findings)


def test_each_check_has_a_fault() -> None:
    assert set(CHECKS) == {check for check, _ in FAULTS}


def test_manifest_conforms_to_its_schema() -> None:
    content, schema = (json.loads((files.ROOT / name).read_text()) for name in (MANIFEST, SCHEMA))

    jsonschema.validate(content, schema)


def test_pack_as_it_is_has_no_findings(capsys: pytest.CaptureFixture[str]) -> None:
    assert (0, "", "") == (main(["validate"]), *capsys.readouterr())
