import json
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from markdown_it import MarkdownIt
from pytest_examples import EvalExample

from scripts.pack import files
from scripts.skills import PROGRAM
from spark_rtm.cli import RTM
from spark_rtm.services.scala import compiled
from spark_rtm.text import markdown
from tests.pages.examples import EXAMPLES, Example
from tests.pages.refusals import refused_examples
from tests.pages.running import PageEnvironment, check_example
from tests.pages.secured import secured_examples

pytestmark = pytest.mark.spark

PROGRAMS = {"spark-submit", "make", "python", "pip", "git", "cd", "export", "curl", "mkdir", "cat", "printf", "rtm"}
PROGRAMS |= {"uv", "uvx", "claude", "python3"}
ASSIGNMENT = re.compile(r"[A-Z_]+=")


def _examples_with(*fates: str) -> list[Example]:
    return [example for example in EXAMPLES if example.fate in fates]


def run_here() -> list[Example]:
    """Return the code blocks that this module runs; two modules run the blocks of the error pages and of security."""
    elsewhere = {str(example) for example in [*refused_examples(), *secured_examples()]}
    return [example for example in _examples_with("run", "raises") if str(example) not in elsewhere]


def test_every_python_fence_runs_in_one_test() -> None:
    blocks = sorted(map(str, _examples_with("run", "raises")))

    assert blocks == sorted(map(str, [*run_here(), *refused_examples(), *secured_examples()]))


@pytest.mark.parametrize("path", files.pages(files.ROOT), ids=lambda path: files.relative(files.ROOT, path))
def test_commonmark_parser_finds_the_same_fences(path: Path) -> None:
    text = path.read_text(encoding="utf-8")

    found = [(fence.line, fence.info) for fence in markdown.fences(text)]

    tokens = MarkdownIt().parse(re.sub(r"\A---\n.*?\n---\n", lambda m: "\n" * m[0].count("\n"), text, flags=re.DOTALL))
    assert [(t.map[0] + 1, t.info.strip()) for t in tokens if t.type == "fence" and t.map] == found


@pytest.mark.services
@pytest.mark.timeout(200)
@pytest.mark.proves("code blocks run")
@pytest.mark.parametrize("example", run_here(), ids=str)
def test_python_fence_does_what_its_fate_says(
    example: Example, eval_example: EvalExample, environment: PageEnvironment
) -> None:
    check_example(example, eval_example, environment)


MUTATIONS: dict[str, tuple[str, str, str]] = {
    "append": ('outputMode("update")', 'outputMode("append")', "OUTPUT_MODE_NOT_SUPPORTED"),
    "micro-batch": ('realTime="5 minutes"', 'processingTime="1 second"', "has the mode 'real-time'"),
    "no-output": ("writeStream", 'where("1 = 0").writeStream', "no record written"),
}


@pytest.mark.services
@pytest.mark.timeout(200)
@pytest.mark.parametrize(("right", "wrong", "message"), MUTATIONS.values(), ids=MUTATIONS)
def test_broken_hard_rule_fails_with_its_reason(
    right: str, wrong: str, message: str, eval_example: EvalExample, environment: PageEnvironment
) -> None:
    started = [example for example in EXAMPLES if example.fate == "run" and example.starts_query]
    example = next(one for one in started if right in one.fence.code and 'realTime="5 minutes"' in one.fence.code)
    mutated = example.with_code(example.fence.code.replace(right, wrong))
    with pytest.raises(AssertionError) as failure:
        check_example(mutated, eval_example, replace(environment, output_seconds=3))

    assert message in str(failure.value)


@pytest.mark.services
@pytest.mark.parametrize(
    ("code", "message"),
    [
        ('spark.readStream.format("rate").load().writeStream.trigger(realTime=True)\n', "VALUE_NOT_NON_EMPTY_STR"),
        ("answer = 1\n", "the code ran to its end"),
    ],
    ids=["other", "none"],
)
def test_other_or_missing_refusal_fails_the_check(
    code: str, message: str, eval_example: EvalExample, environment: PageEnvironment
) -> None:
    example = next(one for one in EXAMPLES if one.fence.options.get("raises") == "ONLY_ALLOW_SINGLE_TRIGGER")

    with pytest.raises(AssertionError, match=message):
        check_example(example.with_code(code), eval_example, environment)


def test_python_fences_bind_their_own_names(tmp_path: Path) -> None:
    blocks = _examples_with("run", "raises", "requires")
    assert len(blocks) > 50
    for block in blocks:
        (tmp_path / f"{Path(block.page).stem}_{block.fence.line}.py").write_text(block.fence.code)
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--line-length=120", "--select=F,E9,E501,I"]
    command += ["--config=builtins=['spark']", "--target-version=py311", f"--config=src=['{files.ROOT}']", "."]

    checked = subprocess.run(command, cwd=tmp_path, text=True, capture_output=True, check=False, timeout=30)

    assert "All checks passed!\n" == checked.stdout


@pytest.mark.parametrize("example", _examples_with("other"), ids=str)
def test_fence_in_another_language_is_valid(example: Example, tmp_path: Path) -> None:
    """Shell commands exist, data parses, Scala compiles; every other fence is marked as text."""
    CHECKERS[example.fence.language](example, tmp_path)


def _check_shell(example: Example, _: Path) -> None:
    """`validate` checks targets of make and modules."""
    code = example.fence.code.replace("\\\n", " ")
    lines = [shlex.split(line, comments=True) for line in code.splitlines()]
    commands = [found for words in lines if (found := [word for word in words if not ASSIGNMENT.match(word)])]
    scripts = [words for words in commands if words[0] == "python" and words[1].endswith(".py")]

    assert {Path(words[0]).name for words in commands} <= PROGRAMS
    assert {words[1] for words in commands if words[0] == "rtm"} <= {*RTM.names, "--version"}
    assert [] == [words[1] for words in scripts if not (files.ROOT / words[1]).is_file()]
    assert {words[2] for words in scripts if words[1].endswith("skills.py")} <= {*PROGRAM.names}


def _check_scala(example: Example, folder: Path) -> None:
    source = folder / "page.scala"
    source.write_text(example.fence.code)
    compiled(source)


CHECKERS: dict[str, Callable[[Example, Path], object]] = {
    "bash": _check_shell,
    "json": lambda example, _: json.loads(example.fence.code),
    "yaml": lambda example, _: yaml.safe_load(example.fence.code),
    "toml": lambda example, _: tomllib.loads(example.fence.code),
    "scala": _check_scala,
    **dict.fromkeys(("text", "markdown", "mermaid"), lambda *_: None),
}
"""For each language, a function that raises an error for invalid code."""
