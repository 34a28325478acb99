"""
Run `lint` for the GitHub action, and print annotations.

The action passes its inputs in `RTM_*` environment variables, so a shell never interprets them as code.
"""

import os
import sys

EMPTY = '{"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "spark-real-time-mode"}}, "results": []}]}\n'
"""A SARIF log without findings, so that the upload step finds a valid file even if nothing could be linted."""

if sys.version_info < (3, 11):  # noqa: UP036  # the job's image may have an older Python
    if os.environ.get("RTM_SARIF_FILE"):
        with open(os.environ["RTM_SARIF_FILE"], "w") as empty_file:  # noqa: PTH123
            empty_file.write(EMPTY)
    found = "%d.%d" % sys.version_info[:2]  # noqa: UP031
    sys.stdout.write("::error::this is Python " + found + "; add actions/setup-python with 3.11 or newer\n")
    sys.exit(2)

import glob
import re
import shlex
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path

SKILLS = Path(__file__).with_name("skills.py")
REQUIREMENTS = Path(__file__).parents[1] / "requirements/base.txt"
ANNOTATION = re.compile(r"::(\w+) [^:]*,title=([a-z-]+)::")
REASON = re.compile(r"^skills\.py: (.*)", re.MULTILINE)
"""Pattern for the lines in which `skills.py` states why it did not run."""
LEVELS = {"error": "errors", "warning": "warnings"}


def main() -> int:
    """Lint the paths in `RTM_PATHS`, write the outputs of the action, and return the exit status."""
    sarif = os.environ["RTM_SARIF_FILE"]
    if sarif:
        Path(sarif).write_text(EMPTY, encoding="utf-8")
    try:
        paths = list(_paths(os.environ["RTM_PATHS"]))
    except ValueError as error:
        print(f"::error::the input paths cannot be read ({error}); put quotes around a path that contains spaces")
        return 2
    with tempfile.TemporaryDirectory() as packages:
        if find_spec("yaml") is None:
            _install_yaml(Path(packages))
        log = _lint("sarif", paths, packages).stdout if sarif else ""
        done = _lint("github", paths, packages)
    if log:
        Path(sarif).write_text(log, encoding="utf-8")
    print(done.stdout, end="")
    print(done.stderr, end="", file=sys.stderr)
    is_complete = done.returncode != 2
    if not is_complete:
        print("".join(f"::error::{text.replace('%', '%25')}\n" for text in REASON.findall(done.stderr)), end="")
    counts = Counter(match.groups() for line in done.stdout.splitlines() if (match := ANNOTATION.match(line)))
    totals = {name: sum(n for (level, _), n in counts.items() if level == key) for key, name in LEVELS.items()}
    # The numbers of an incomplete check would look like a result.
    outputs = {**(totals if is_complete else dict.fromkeys(totals, "")), "sarif-file": sarif.replace("\n", " ")}
    _append("GITHUB_OUTPUT", (f"{name}={value}" for name, value in outputs.items()))
    _append("GITHUB_STEP_SUMMARY", _summary(totals, counts, is_complete=is_complete))
    return done.returncode


def _paths(text: str) -> Iterator[str]:
    """Yield paths, and the matches of patterns. Also yield a pattern without a match, so that the linter reports it."""
    for word in shlex.split(text):
        yield from [word] if os.path.lexists(word) else sorted(glob.glob(word, recursive=True)) or [word]  # noqa: PTH207


def _install_yaml(folder: Path) -> None:
    """Install the pinned PyYAML and check its hashes. Without PyYAML, the linter reports YAML as unchecked."""
    (pinned,) = re.findall(r"^pyyaml==.*(?:\n    --hash.*)*\n", REQUIREMENTS.read_text(encoding="utf-8"), re.MULTILINE)
    file = folder / "requirements.txt"
    file.write_text(pinned, encoding="utf-8")
    options = ["--quiet", "--require-hashes", "--only-binary", ":all:", "--target", str(folder), "-r", str(file)]
    # With -I, no module of the linted project, such as its `pip.py`, replaces an installed one.
    if subprocess.run([sys.executable, "-I", "-m", "pip", "install", *options], check=False).returncode:
        print("::warning::PyYAML could not be installed, so YAML is not checked; install it in an earlier step")


def _lint(style: str, paths: list[str], packages: str) -> "subprocess.CompletedProcess[str]":
    engine = os.environ["RTM_ENGINE"]
    options = ["--engine", engine] if engine else []
    options += ["--strict"] if os.environ["RTM_STRICT"] == "true" else []
    command = [sys.executable, str(SKILLS), "lint", "--format", style, *options, "--", *paths]
    variables = {**os.environ, "PYTHONPATH": packages}
    return subprocess.run(command, capture_output=True, env=variables, encoding="utf-8", check=False)


def _summary(totals: dict[str, int], counts: Counter[tuple[str, ...]], *, is_complete: bool) -> Iterator[str]:
    found = f"{totals['errors']} errors, {totals['warnings']} warnings"
    missing = "Nothing was checked, or a file was not checked completely; the annotations contain the reason."
    yield f"### Spark real-time mode\n\n{found if is_complete else missing}\n"
    if counts:
        yield "| findings | severity | rule |\n|---|---|---|"
    yield from (f"| {count} | {level} | `{rule}` |" for (level, rule), count in sorted(counts.items()))


def _append(variable: str, lines: Iterable[str]) -> None:
    with open(os.environ.get(variable) or os.devnull, "a", encoding="utf-8") as file:  # noqa: PTH123
        file.writelines(f"{line}\n" for line in lines)


if __name__ == "__main__":
    sys.exit(main())
