import json
import re
import shlex
import sys
from pathlib import Path

import psutil
import pytest

from evals import items
from evals.__main__ import main
from evals.assistant import Reply
from evals.run import graded
from spark_rtm.prove.engine import Bench

pytestmark = [pytest.mark.spark, pytest.mark.services]

TASK = items.tasks()[0]
TWO_OUTPUTS = next(task for task in items.tasks() if task.name == "two_outputs")
SOLUTION = """\
from pyspark.sql import functions as F

AMOUNT = F.get_json_object(F.col("value").cast("string"), "$.amount_cents").try_cast("long")


def transform(records):
    topics = F.when(AMOUNT >= 100_000, F.array(F.lit("ledger"), F.lit("alerts"))).otherwise(F.array(F.lit("ledger")))
    return records.select("key", "value", F.explode(topics).alias("topic"))
"""
SAYS = "import sys; print('ANSWER: 18' if 'repartition' in sys.stdin.read() else 'ANSWER: 4')"


@pytest.mark.parametrize(
    ("text", "solution", "reason"),
    [
        ("Done.", None, "the reply has neither solution.py nor a Python block"),
        ("```python\ndef other(records): ...\n```", None, "solution.py does not define transform"),
        (
            "Done.",
            "import nothing_of_this_name",
            "solution.py raises ModuleNotFoundError: No module named 'nothing_of_this_name'",
        ),
    ],
)
def test_solution_that_cannot_be_run_is_wrong(
    text: str, solution: str | None, reason: str, tmp_path: Path, bench: Bench
) -> None:
    if solution:
        (tmp_path / "solution.py").write_text(solution)

    verdict = graded(TASK, Reply(text, 1.5, 7), tmp_path, lambda: bench)

    assert (reason, False, 7, 1.5) == (verdict.reason, verdict.is_right, verdict.read_bytes, verdict.seconds)


REPLACES = """\
import evals.items, evals.run, evals.stage, evals.coding_tasks.two_outputs as verifier

evals.run.verify = evals.stage.verify = lambda *_: evals.items.Verdict("two_outputs", is_right=True)
verifier.verify = lambda *_: None


def transform(records):
    return records.select("key", "value").limit(0)
"""
CHEATS = {
    "replaced verifier": (REPLACES, 60, "the query ended with"),
    "ends later": ("import os\ndef transform(records):\n    os._exit(0)\n", 60, "solution.py ended its process"),
    "endless later": ("import signal\ndef transform(records):\n    signal.pause()\n", 5, "still running after 5 s"),
    "raises": ("def transform(records):\n    raise KeyError('amount')\n", 60, "KeyError: 'amount'"),
}


@pytest.mark.parametrize(("code", "seconds", "reason"), CHEATS.values(), ids=CHEATS)
def test_solution_cannot_choose_its_verdict(
    code: str, seconds: float, reason: str, tmp_path: Path, bench: Bench
) -> None:
    (tmp_path / "solution.py").write_text(code)

    verdict = graded(TWO_OUTPUTS, Reply("Done.", 1, None), tmp_path, lambda: bench, seconds)

    assert not verdict.is_right
    assert re.search(reason, verdict.reason), verdict.reason


def test_processes_of_a_solution_end_with_its_verdict(tmp_path: Path, bench: Bench) -> None:
    start = "import subprocess, sys\nsubprocess.Popen(['sleep', '600'], start_new_session=True)\n"
    start += "open('pid', 'w').write(str(subprocess.Popen(['sleep', '601'], start_new_session=True).pid))\n"
    (tmp_path / "solution.py").write_text(f"{start}{SOLUTION}")

    verdict = graded(TWO_OUTPUTS, Reply("Done.", 1, None), tmp_path, lambda: bench)

    assert verdict.is_right, verdict.reason
    assert not psutil.pid_exists(int((tmp_path / "pid").read_text()))


def test_assistant_answers_questions_and_gets_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command, output = shlex.join([sys.executable, "-c", SAYS]), tmp_path / "result.json"

    status = main(
        ["--assistant", command, "--filter", "^slots-(repart|two-c|broadc)|^trigger-true$", "--output", str(output)]
    )

    table = capsys.readouterr().out
    result = json.loads(output.read_text())
    assert 0 == status
    assert "1 of 4 right (items raised by others: 0 of 1; by this project: 1 of 3); mean bytes of" in table
    assert {"date", "assistant", "with_pack", "skill_only", "pack_sha256", "verdicts"} == result.keys()
    assert [True, False, False, False] == [verdict["is_right"] for verdict in result["verdicts"]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--filter nothing-like-this", "no item matches 'nothing-like-this'"),
        ("--assistant no-such-assistant --filter ^query-1$", "'no-such-assistant' of the assistant was not"),
    ],
)
def test_wrong_usage_ends_with_a_message(arguments: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert 2 == main(arguments.split())
    assert message in capsys.readouterr().err
