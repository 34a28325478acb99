"""Write the results of a benchmark as JSON, and report problems."""

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

BUILD_DIR, PUBLISHED_DIR = Path("build/benchmarks"), Path("references/measured")
REPOSITORY = Path(__file__).parents[2]
NUMBER_LIST = re.compile(r"\[[\s\d.,-]+\]")


def report_problems(problems: Sequence[str]) -> int:
    """Print the number of problems and the first problem, and return the exit status."""
    if problems:
        found = f"{len(problems)} {'problems invalidate' if len(problems) > 1 else 'problem invalidates'}"
        consequence = "so the results were not published"
        print(f"{found} this benchmark, {consequence}; first problem: {problems[0]}", file=sys.stderr)
    return 1 if problems else 0


def write_json(content: dict[str, Any], path: Path) -> Path:
    """Write JSON without this checkout's path, create the folder if necessary, and return the file's path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(content, indent=1).replace(f"{REPOSITORY.as_uri()}/", "file:")
    # Each list of numbers stays on one line, so the diff between two runs is readable.
    path.write_text(NUMBER_LIST.sub(lambda match: " ".join(match[0].split()), text) + "\n")
    return path
