"""
Measure the linter's recall and precision on cases that were not used to develop it.

The linter was developed on the cases of `KIND_seen.cases`, and on no case of `KIND.cases`. In both, a line `=== NAME`
begins each file, and comments `expect: RULE` mark the expected findings. If run as a program, this module prints recall
and precision for both sets of cases, and the linter's mistakes in the seen cases. A developer who looks at a mistake in
`KIND.cases` must move its cases to `KIND_seen.cases`, and write new ones.
"""

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


def cases(stem: str) -> dict[str, str]:
    return cases_in(FOLDER / f"{stem}.cases")


def result(texts: dict[str, str]) -> Result:
    marks = {f"{name}:{line}: {rule}" for name, text in texts.items() for line, rule in expected(text)}
    findings = {f"{name}:{each.line}: {each.rule}" for name, text in texts.items() for each in lint_text(text, name)}
    return Result(len(marks & findings), tuple(sorted(marks - findings)), tuple(sorted(findings - marks)))


if __name__ == "__main__":
    for stem in (stem for kind in KINDS for stem in (f"{kind}_seen", kind)):
        measured = result(cases(stem))
        counts = f"{measured.found} found, {len(measured.missed)} missed, {len(measured.wrong)} wrong"
        print(f"{stem:17} recall {measured.recall:.2f}, precision {measured.precision:.2f} ({counts})")
        for line in (*measured.missed, *measured.wrong) if stem.endswith("_seen") else ():
            print(f"  mistake: {line}")
