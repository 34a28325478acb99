"""
Evaluate an assistant, or check the evaluations themselves.

Without `--assistant`, the program grades the known answers to questions and tasks. The exit status is 1 if a verdict is
wrong. With `--assistant`, the assistant answers all items, and the program prints the verdicts.
"""

import argparse
import contextlib
import json
import re
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from evals import grading, items
from evals.assistant import TIMEOUT_SECONDS, Assistant, words_of
from evals.items import Item, Question, Task, Verdict
from evals.processes import adopt_orphans, kill_processes
from evals.run import asked, graded, table
from evals.stage import broken_tasks
from scripts.pack import files, install
from spark_rtm.prove.engine.bench import Bench, bench

KINDS: dict[str, Callable[[], Sequence[Item]]] = {
    "questions": items.questions,
    "triggers": items.triggers,
    "tasks": items.tasks,
}
# More slots than any task needs. An answer that needs more than these slots is rejected before its query starts.
SLOTS = 16
MAX_LINE = 160
EXAMPLES = """examples:
  python -m evals
  python -m evals --assistant 'my-assistant --print' --only questions --output result.json
  python -m evals --assistant 'my-assistant -p {prompt}' --filter slots --without-pack"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command."""
    options = _options(arguments)
    chosen = [
        item
        for kind, load in KINDS.items()
        if options.only in (None, kind)
        for item in load()
        if options.filter.search(item.name)
    ]
    if not chosen:
        _say(f"no item matches {options.filter.pattern!r}; evals/evals.json lists the item names")
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


def _evaluate(options: argparse.Namespace, chosen: Sequence[Item], services: Callable[[], Bench]) -> None:
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


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m evals",
        description=__doc__,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--assistant", metavar="COMMAND", help="command that runs the assistant, with {prompt} for the prompt"
    )
    parser.add_argument("--only", choices=KINDS, help="ask only items of this kind")
    parser.add_argument(
        "--filter",
        type=re.compile,
        default=re.compile(""),
        metavar="PATTERN",
        help="ask only items whose names match the pattern",
    )
    parser.add_argument(
        "--pack-dir",
        default=f"skills/{grading.skill()[0]}",
        metavar="PATH",
        help="folder for the pack, relative to the assistant's working folder (default: %(default)s)",
    )
    arm = parser.add_mutually_exclusive_group()
    arm.add_argument("--without-pack", action="store_true", help="do not give the pack to the assistant")
    arm.add_argument("--skill-only", action="store_true", help="give only the pack's SKILL.md to the assistant")
    parser.add_argument(
        "--timeout",
        type=float,
        default=TIMEOUT_SECONDS,
        metavar="SECONDS",
        help="time limit for one item in seconds (default: %(default)g)",
    )
    # The current folder changes when the broker starts, so a relative path is resolved here.
    parser.add_argument(
        "--output", type=lambda text: Path(text).resolve(), metavar="FILE", help="write the verdicts as JSON"
    )
    return parser.parse_args(arguments)


def _say(text: str) -> None:
    print(text[:MAX_LINE], file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
