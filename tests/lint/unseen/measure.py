"""
Measure recall and precision of the linter on cases outside its development.

The linter was developed on the cases of `KIND_seen.cases`, and on no case of `KIND.cases`.
In both, a line `=== NAME` begins each file, and comments `expect: RULE` mark the expected findings.
As a program, this module prints the numbers of both; with `--show`, also the mistakes in the seen cases.
A developer who looks at a mistake in `KIND.cases` must move its cases to `KIND_seen.cases`, and write new ones.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from spark_rtm.lint.engine import lint_text
from tests.lint.case_files import cases_in
from tests.lint.test_lint_cases import expected

FOLDER = Path(__file__).parent
KINDS = sorted(path.stem for path in FOLDER.glob("*.cases") if not path.stem.endswith("_seen"))


@dataclass(frozen=True)
class Result:
    found: int
    missed: tuple[str, ...]
    wrong: tuple[str, ...]

    @property
    def recall(self) -> float:
        return self.found / max(1, self.found + len(self.missed))

    @property
    def precision(self) -> float:
        return self.found / max(1, self.found + len(self.wrong))


def cases(kind: str) -> dict[str, str]:
    return cases_in(FOLDER / f"{kind}.cases")


def halves(kind: str) -> tuple[dict[str, str], dict[str, str]]:
    return cases(f"{kind}_seen"), cases(kind)


def result(texts: dict[str, str]) -> Result:
    found, missed, wrong = 0, [], []
    for name, text in texts.items():
        marks = set(expected(text))
        findings = {(finding.line, finding.rule) for finding in lint_text(text, name)}
        found += len(marks & findings)
        missed += [f"{name}:{line}: {rule}" for line, rule in sorted(marks - findings)]
        wrong += [f"{name}:{line}: {rule}" for line, rule in sorted(findings - marks)]
    return Result(found, tuple(missed), tuple(wrong))


def report(*, show: bool) -> Iterator[str]:
    for kind in KINDS:
        for label, texts in zip(("development", "unseen"), halves(kind), strict=True):
            measured = result(texts)
            numbers = f"recall {measured.recall:.2f}, precision {measured.precision:.2f}"
            counts = f"{measured.found} found, {len(measured.missed)} missed, {len(measured.wrong)} wrong"
            yield f"{kind:12} {label:12} {len(texts):3} cases: {numbers} ({counts})"
            if show and label == "development":
                yield from (f"  missed {line}" for line in measured.missed)
                yield from (f"  wrong  {line}" for line in measured.wrong)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the linter on cases that it was not developed on.")
    parser.add_argument("--show", action="store_true", help="print each mistake in the half of development")
    for line in report(show=parser.parse_args().show):
        sys.stdout.write(line + "\n")


if __name__ == "__main__":
    main()
