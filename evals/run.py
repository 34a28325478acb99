"""Send all items to an assistant, grade its replies, and print the verdicts."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from evals import grading
from evals.assistant import Assistant, Reply, ask
from evals.items import Item, Question, Trigger, Verdict
from evals.solution import SOLUTION, TIME_LIMIT_SECONDS, solution
from evals.stage import WrongAnswerError, module_of, verify
from spark_rtm.prove.engine import Bench

_BLOCK = re.compile(r"^```(?:python|py)?[^\n]*\n(.*?)^```", re.DOTALL | re.MULTILINE)
MAX_REASON = 110
UNKNOWN = "-"


def asked(assistant: Assistant, item: Item, folder: Path) -> Reply:
    """Send an item to the assistant, and run the assistant in the item's own folder."""
    # A question about which skill to load must not contain a hint about this skill.
    return ask(replace(assistant, pack_dir=None) if isinstance(item, Trigger) else assistant, _prompt(item), folder)


def graded(
    item: Item, reply: Reply, folder: Path, bench: Callable[[], Bench], seconds: float = TIME_LIMIT_SECONDS
) -> Verdict:
    """Return the verdict on a reply. `bench` returns the environment for solutions, and `seconds` limits each step."""
    if reply.error:
        verdict = Verdict(item.name, is_right=False, reason=reply.error)
    elif isinstance(item, Question | Trigger):
        verdict = grading.grade(item, reply.text)
    else:
        verdict = _graded_task(item.name, reply.text, folder / SOLUTION, bench, seconds)
    return replace(verdict, read_bytes=reply.read_bytes, seconds=reply.seconds, raised_at=item.raised_at)


def _prompt(item: Item) -> str:
    if isinstance(item, Trigger):
        return grading.trigger_prompt(item)
    return item.prompt + (grading.INSTRUCTION if isinstance(item, Question) else "")


def _graded_task(task: str, text: str, path: Path, bench: Callable[[], Bench], seconds: float) -> Verdict:
    if not path.is_file():
        blocks = _BLOCK.findall(text)
        if not blocks:
            return Verdict(task, is_right=False, reason=f"the reply has neither {SOLUTION} nor a Python block")
        path.write_text(blocks[-1], encoding="utf-8")
    # Load the verifier before the code runs, because the code could change its file.
    module_of(task)
    services = bench()
    try:
        with solution(path, seconds) as transform:
            transform.load()
            return verify(services, task, transform)
    except WrongAnswerError as error:
        return Verdict(task, is_right=False, reason=str(error))


def table(verdicts: Sequence[Verdict]) -> str:
    """Return one line per verdict, and a summary: right answers by who raised the item, and mean bytes read."""
    width = max([len(verdict.item) for verdict in verdicts], default=0)
    others = _right([verdict for verdict in verdicts if verdict.raised_at])
    ours = _right([verdict for verdict in verdicts if not verdict.raised_at])
    known = [verdict.read_bytes for verdict in verdicts if verdict.read_bytes is not None]
    read = f"{sum(known) / len(known):,.0f}" if known else UNKNOWN
    summary = f"{_right(verdicts)} right (items raised by others: {others}; by this project: {ours})"
    header = f"{'item':{width}}  verdict  read bytes  seconds  reason"
    last = f"{summary}; mean bytes of the pack opened per answer: {read}"
    return "\n".join([header, *(_line(verdict, width) for verdict in verdicts), last])


def _right(verdicts: Sequence[Verdict]) -> str:
    return f"{sum(verdict.is_right for verdict in verdicts)} of {len(verdicts)}"


def _line(verdict: Verdict, width: int) -> str:
    read = UNKNOWN if verdict.read_bytes is None else f"{verdict.read_bytes:,}"
    word = "right" if verdict.is_right else "wrong"
    reason = verdict.reason.replace("\n", " ")[:MAX_REASON]
    return f"{verdict.item:{width}}  {word:7}  {read:>10}  {verdict.seconds:7.1f}  {reason}".rstrip()
