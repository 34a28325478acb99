"""Ask an assistant all items, and grade its replies."""

import re
import runpy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from evals import grading, triggers
from evals.assistant import Assistant, Reply, ask
from evals.items import Item, Question, Task, Trigger
from evals.tasks import verify
from evals.verdict import Verdict
from spark_rtm.prove.subjects.bench import Bench

SOLUTION = "solution.py"
ENTRY = "transform"
_BLOCK = re.compile(r"^```(?:python|py)?[^\n]*\n(.*?)^```", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Answered:
    """An item, the reply, and the folder in which the assistant worked."""

    item: Item
    reply: Reply
    folder: Path


def answers(assistant: Assistant, items: Sequence[Item], parent: Path) -> Iterator[Answered]:
    """Ask the assistant one item after the other, each in a folder of its own, and yield its replies."""
    for item in items:
        folder = parent / item.name
        # Which skill an assistant loads must not depend on a hint to this skill.
        asked = replace(assistant, pack_dir=None) if isinstance(item, Trigger) else assistant
        yield Answered(item, ask(asked, _prompt(item), folder), folder)


def graded(answered: Answered, bench: Callable[[], Bench]) -> Verdict:
    """Return the verdict on a reply; `bench` returns the session and the broker for coding tasks."""
    item, reply = answered.item, answered.reply
    if reply.error:
        verdict = Verdict(item.name, is_right=False, reason=reply.error)
    elif isinstance(item, Question):
        verdict = grading.grade(item, reply.text)
    elif isinstance(item, Trigger):
        verdict = triggers.grade(item, reply.text)
    else:
        verdict = _graded_task(item, answered, bench)
    return replace(verdict, read_bytes=reply.read_bytes, seconds=reply.seconds)


def _prompt(item: Item) -> str:
    if isinstance(item, Trigger):
        return triggers.prompt(item)
    return item.prompt + (grading.INSTRUCTION if isinstance(item, Question) else "")


def _graded_task(task: Task, answered: Answered, bench: Callable[[], Bench]) -> Verdict:
    path = answered.folder / SOLUTION
    if not path.is_file():
        blocks = _BLOCK.findall(answered.reply.text)
        if not blocks:
            return Verdict(task.name, is_right=False, reason=f"neither {SOLUTION} nor a block of Python in the reply")
        path.write_text(blocks[-1], encoding="utf-8")
    # Before the code runs, because its columns need a session.
    services = bench()
    try:
        names = runpy.run_path(str(path))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the code of an assistant may raise anything
        return Verdict(task.name, is_right=False, reason=f"{SOLUTION} raises {type(error).__name__}: {error}")
    if not callable(names.get(ENTRY)):
        return Verdict(task.name, is_right=False, reason=f"{SOLUTION} does not define {ENTRY}")
    return verify(services, task.name, names[ENTRY])
