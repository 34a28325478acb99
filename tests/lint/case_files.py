"""Read case files: `=== NAME` begins a case, the name determines its format, and `expect: RULE` marks its findings."""

import re
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent
SEPARATOR = re.compile(r"^=== (\S+)\n", re.MULTILINE)


@cache
def cases_in(path: Path) -> dict[str, str]:
    parts = SEPARATOR.split(path.read_text(encoding="utf-8"))
    assert len(parts[1::2]) == len(set(parts[1::2])), f"{path} has two cases of one name"
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def cases_of_rules() -> dict[str, str]:
    return {
        f"{path.stem}/{name}": text
        for path in sorted((FOLDER / "cases").glob("*.cases"))
        for name, text in cases_in(path).items()
    }
