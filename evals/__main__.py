"""
Evaluate an assistant, or check the evaluations themselves.

Without `--assistant`, the program grades the known answers to questions and tasks. The exit status is 1 if a verdict is
wrong. With `--assistant`, the assistant answers all items, and the program prints the verdicts.
"""

import contextlib
import json
import re
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Annotated

from evals import grading, items
from evals.assistant import TIMEOUT_SECONDS, Assistant, words_of
from evals.items import Item, Question, Task, Verdict
from evals.processes import adopt_orphans, kill_processes
from evals.run import asked, graded, table
from evals.stage import broken_tasks
from scripts.pack import files, install
from spark_rtm.command_line import Argument, arguments_of
from spark_rtm.prove.engine import Bench, bench

KINDS: dict[str, Callable[[], Sequence[Item]]] = {
    "questions": items.questions,
    "triggers": items.triggers,
    "tasks": items.tasks,
}
# More slots than any task needs. An answer that needs more than these slots is rejected before its query starts.
SLOTS = 16
MAX_LINE = 160
ABOUT = (__doc__ or "").strip()
EXAMPLE = "python -m evals --assistant 'my-assistant -p {prompt}' --only questions --output result.json"


@dataclass(frozen=True)
class Options:
    """Options for the evaluation."""

    assistant: Annotated[str, Argument("COMMAND")] = ""
    """Command that runs the assistant, with {prompt} for the prompt."""
    only: Annotated[str, Argument(choices=KINDS)] = ""
    """Ask only items of this kind."""
    filter: Annotated[str, Argument("PATTERN")] = ""
    """Ask only items whose names match the pattern."""
    pack_dir: Annotated[str, Argument("PATH")] = "skills/spark-real-time-mode"
    """Folder for the pack, relative to the assistant's working folder."""
    without_pack: bool = False
    """Do not give the pack to the assistant."""
    skill_only: bool = False
    """Give only the pack's SKILL.md to the assistant."""
    timeout: Annotated[float, Argument("SECONDS")] = TIMEOUT_SECONDS
    """Time for one item."""
    # The current folder changes when the broker starts, so a relative path is resolved here.
    output: Annotated[Path | None, Argument("FILE", lambda text: Path(text).resolve())] = None
    """Write the verdicts as JSON."""

    def __post_init__(self) -> None:
        """Raise ValueError for options that exclude each other."""
        if self.without_pack and self.skill_only:
            raise ValueError("--without-pack and --skill-only exclude each other; pass one of them")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run an evaluation or the checks, and return the exit status."""
    options = arguments_of(Options, arguments, program="python -m evals", description=ABOUT, example=EXAMPLE)
    chosen = [
        item
        for kind, load in KINDS.items()
        if options.only in ("", kind)
        for item in load()
        if re.search(options.filter, item.name)
    ]
    if not chosen:
        _say(f"no item matches {options.filter!r}; evals/evals.json lists the item names")
        return 2
    started = time.monotonic()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with contextlib.ExitStack() as stack:
        # This also kills a JVM that is still starting and that PySpark cannot report yet.
        stack.callback(kill_processes, adopt_orphans())

        @cache
        def services() -> Bench:
            _say("starting a Kafka broker and Spark")
            return stack.enter_context(bench(SLOTS))

        try:
            if options.assistant:
                _evaluate(options, chosen, services)
                return 0
            questions = [item for item in chosen if isinstance(item, Question)]
            tasks = [item for item in chosen if isinstance(item, Task)]
            broken = [*grading.broken_questions(questions)]
            broken += broken_tasks(services(), tasks, _say) if tasks else []
        except (OSError, RuntimeError, ValueError) as error:
            print(error, file=sys.stderr)
            return 2
        except KeyboardInterrupt:
            _say("interrupted")
            return 130
    checked = f"checked {len(questions)} questions, {len(tasks)} tasks: {len(broken)} unexpected verdicts"
    print("\n".join([*broken, checked]))
    print(f"{time.monotonic() - started:.0f} s")
    return int(bool(broken))


def _evaluate(options: Options, chosen: Sequence[Item], services: Callable[[], Bench]) -> None:
    pack_dir = None if options.without_pack else options.pack_dir
    assistant = Assistant(words_of(options.assistant), pack_dir, options.timeout, options.skill_only)
    verdicts = list[Verdict]()
    try:
        with tempfile.TemporaryDirectory(prefix="evals-") as parent:
            for number, item in enumerate(chosen, 1):
                folder = Path(parent, item.name)
                verdicts.append(graded(item, asked(assistant, item, folder), folder, services))
                _say(f"{number} of {len(chosen)}: {verdicts[-1].item}: {verdicts[-1].reason or 'right'}")
    finally:
        print(table(verdicts))
        if options.output:
            conditions = {
                "date": datetime.now(UTC).date().isoformat(),
                "assistant": options.assistant,
                "with_pack": not options.without_pack,
                "skill_only": options.skill_only,
                "pack_sha256": install.digest(files.ROOT),
            }
            content = {**conditions, "verdicts": [asdict(verdict) for verdict in verdicts]}
            options.output.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _say(text: str) -> None:
    print(text[:MAX_LINE], file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
