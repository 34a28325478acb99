"""
Problems in Python and Scala code.

What arrives is a module, a notebook's cell or a fence, which may be an excerpt; what leaves are problems with lines.
Real-time mode demands that an excerpt is understood even when the beginning of its chain is not shown.
"""

from __future__ import annotations

import ast
import re
import textwrap
import warnings
from collections.abc import Iterator

from scripts.lint.prose.marks import EXPECT, wrong_lines
from scripts.lint.prose.mode_claims import MODE_CLAIMS
from scripts.lint.python.interpreter import Interpreter
from scripts.lint.rules.mode import MODE_RULES
from scripts.lint.rules.operator import OPERATOR_RULES
from scripts.lint.rules.rule import Module, Problem, Rule
from scripts.lint.rules.setting import SETTING_RULES
from scripts.lint.rules.source import SOURCE_RULES
from scripts.lint.rules.state import STATE_RULES
from scripts.lint.rules.trigger import TRIGGER_RULES
from scripts.lint.rules.writer import WRITER_RULES
from scripts.lint.spark.intervals import MINIMUM_MS, time_conf_ms
from scripts.lint.spark.scope import FRAGMENT

CODE_RULES: list[Rule] = [
    *TRIGGER_RULES,
    *WRITER_RULES,
    *SOURCE_RULES,
    *OPERATOR_RULES,
    *STATE_RULES,
    *SETTING_RULES,
    *MODE_RULES,
]
SPARK = re.compile(r"\b(?:py)?spark\b|readStream|writeStream|SparkSession|DataStreamWriter", re.IGNORECASE)
MINIMUM = re.compile(r"realTimeMode\.minBatchDuration[\"']?\s*[,:=]\s*[\"']?(\d+\s*\w*)")
ASSIGNED = re.compile(r"^\s*(\w+\s*=(?!=)\s*)?(.*)$")
CALLED = re.compile(r"\b(?:real[- ]time mode|rtm)\b|\breal[- ]time (?:trigger|quer)", re.IGNORECASE)
NOT_CALLED = re.compile(
    r"\b(?:not|no|never|instead|micro-?batch|fall ?back|vs|versus|than|before|unlike|switch|without|"
    r"compare[ds]?|baseline|"
    r"until|when|if|for|while|lacks?|refuse[sd]?|cannot|else|once|later|beside|next to|same|other|after)\b|n't\b",
    re.IGNORECASE,
)

CALLS_IT = next(rule for rule in MODE_CLAIMS if rule.id == "claim-micro-batch")

Found = list[tuple[Rule, Problem]]


def minimum_in(text: str) -> float | None:
    """Return the smallest minimum batch duration that a text sets, in milliseconds."""
    values = [value for match in MINIMUM.findall(text) if (value := time_conf_ms(match)) is not None]
    return min(values, default=None)


def python_problems(
    code: str, *, is_excerpt: bool, is_spark: bool | None = None, minimum_ms: float | None = None
) -> Found | None:
    """Return the problems of Python code, or None if it cannot be parsed."""
    prepared, tree = code, _tree(code)
    if tree is None:
        prepared = _plain(code)
        tree = parsed(prepared, is_excerpt=is_excerpt)
    if tree is None:
        return None
    interpreter = Interpreter()
    interpreter.run(tree)
    module = Module(
        interpreter.spark.queries,
        interpreter.spark.triggers,
        interpreter.spark.settings,
        interpreter.imports,
        code.splitlines(),
        bool(SPARK.search(code)) if is_spark is None else is_spark,
        min([each for each in (minimum_in(code), minimum_ms) if each is not None], default=MINIMUM_MS),
    )
    wrong = wrong_lines(prepared, tree, is_excerpt=is_excerpt)
    return visible(module, wrong)


def visible(module: Module, wrong: set[int]) -> Found:
    """Return the problems of a module that are not on lines shown as wrong."""
    found: Found = []
    for rule in CODE_RULES:
        for problem in rule.check(module):
            if problem.line not in wrong and not wrong & problem.lines:
                found.append((rule, problem))
    return found + [(CALLS_IT, problem) for problem in _called_real_time(module) if problem.line not in wrong]


def _called_real_time(module: Module) -> Iterator[Problem]:
    """Yield the micro-batch triggers that a comment beside or above them calls real-time mode."""
    for trigger, _ in module.triggers:
        if trigger.kinds == ("processingTime",) and trigger.line <= len(module.lines):
            above = module.lines[trigger.line - 2].strip() if trigger.line > 1 else ""
            beside = module.lines[trigger.line - 1].partition("#")[2]
            for comment in (EXPECT.sub("", beside), above[1:] if above.startswith("#") else ""):
                if CALLED.search(comment) and not NOT_CALLED.search(comment):
                    message = "a comment calls this real-time mode, but it is micro-batch mode, in which rows wait"
                    yield Problem(trigger.line, message, 'write trigger(realTime="5 minutes")')


def parsed(code: str, *, is_excerpt: bool) -> ast.Module | None:
    """Return the syntax tree of code; of an excerpt, whatever of it can be understood; None if that is nothing."""
    tree = _tree(code) or (_tree(textwrap.dedent(code)) if is_excerpt else None)
    return tree or (_tree(salvaged(code)) if is_excerpt else None)


def _tree(code: str) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def salvaged(code: str) -> str:
    """Return the paragraphs of an excerpt that can be understood, alone or completed, on the same lines."""
    lines = ["" if line.strip() == "..." else line for line in code.splitlines()]
    if _tree("\n".join(lines)):
        return "\n".join(lines)
    start = 0
    while start < len(lines):
        end = next((number for number in range(start, len(lines)) if not lines[number].strip()), len(lines))
        lines[start:end] = _salvaged_block(lines[start:end])
        start = end + 1
    return "\n".join(lines)


def _salvaged_block(block: list[str]) -> list[str]:
    plain = textwrap.dedent("\n".join(line.rstrip().removesuffix("\\") for line in block)).splitlines()
    first_dot = next((number for number, line in enumerate(plain) if line.strip().startswith(".")), len(plain))
    before, chain = plain[:first_dot], _in_brackets(plain[first_dot:], FRAGMENT)
    together, apart = _in_brackets(plain, ""), [*before, *chain]
    belongs = any("Stream" in line for line in before)
    candidates = [
        textwrap.dedent("\n".join(block)).splitlines(),
        *([together, apart] if belongs else [apart, together]),
        [*[""] * first_dot, *chain],
    ]
    return next((lines for lines in candidates if _tree("\n".join(lines))), [""] * len(block))


def _in_brackets(block: list[str], name: str) -> list[str]:
    """Put a chain into brackets, behind a name if its beginning is not shown."""
    codes = [number for number, line in enumerate(block) if line.strip() and not line.strip().startswith("#")]
    if not codes:
        return block
    lines = list(block)
    target, value = ASSIGNED.match(lines[codes[0]]).groups()  # type: ignore[union-attr]  # matches any line
    if not name and value.startswith("."):
        name = FRAGMENT
    name = "_stream" if name and any("writeStream" in line for line in block) else name
    lines[codes[0]] = f"{target or ''}({name}{value}"
    body, sign, comment = lines[codes[-1]].partition("  #")
    missing = max(0, "\n".join(lines).count("(") - "\n".join(lines).count(")") - 1)
    lines[codes[-1]] = f"{body}){')' * min(missing, 2)}{sign}{comment}"
    return lines


def _plain(code: str) -> str:
    """Empty the lines of a notebook's magics and a shell, and take away the prompts of a session."""
    lines = code.splitlines()
    first = next((line.lstrip() for line in lines if line.strip()), "")
    is_session = first.startswith(">>> ")
    plain = []
    for line in lines:
        bare = line.lstrip()
        if bare.startswith(("%", "!")) and not bare.startswith("%="):
            plain.append("")
        elif is_session:
            plain.append(bare[4:] if bare.startswith((">>> ", "... ")) else "")
        else:
            plain.append(line)
    return "\n".join(plain)
