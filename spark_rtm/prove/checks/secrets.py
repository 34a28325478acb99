"""Find passwords in the user's code, and where Spark prints them: plan, log, checkpoint, output."""

import ast
import re
from pathlib import Path

from spark_rtm.prove.subjects.subject import Subject
from spark_rtm.prove.verdicts.verdict import GOOD, WRONG, Verdict
from spark_rtm.realtime.proof import plan_of_frame

PAGE = "references/production.md"
NAME = re.compile(r"passw(or)?d|secret|token|jaas|api_?key|credential", re.IGNORECASE)
QUOTED = re.compile(r"password\s*=\s*[\"']([^\"']+)[\"']")
# Not the name of an environment variable, and not a text with spaces.
SECRET = re.compile(r"(?![A-Z_]+$)\S{6,}")


def secrets(subject: Subject) -> list[Verdict]:
    """Return a verdict for each password that is written in the user's file."""
    try:
        found = secrets_in(subject.path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, SyntaxError):
        found = {}
    if not found:
        return [Verdict("secrets", GOOD, "the file contains no password or token")]
    places = {text: _places(subject, text) for text in found}
    return [
        Verdict(
            "secrets",
            WRONG,
            f"the code contains a password or token{_printed(places[text])}",
            "read it from a secret store or from the environment of the executors, and never put it into an expression",
            PAGE,
            str(subject.path),
            line,
        )
        for text, line in found.items()
    ]


def secrets_in(code: str) -> dict[str, int]:
    """Return the texts that the code assigns to names such as `password`, with their lines."""
    found = dict[str, int]()
    for node in ast.walk(ast.parse(code)):
        for name, value in _named(node):
            if NAME.search(name) and isinstance(value, ast.Constant) and isinstance(value.value, str):
                quoted = QUOTED.search(value.value)
                text = quoted[1] if quoted else value.value
                if SECRET.fullmatch(text):
                    found.setdefault(text, value.lineno)
    return found


def _named(node: ast.AST) -> list[tuple[str, ast.expr | None]]:
    """Return pairs of a name and its value: assignments, keywords, dictionary entries and `option(name, value)`."""
    match node:
        case (
            ast.Assign(targets=[ast.Name(id=name)], value=value) | ast.AnnAssign(target=ast.Name(id=name), value=value)
        ):
            return [(name, value)]
        case ast.keyword(arg=str(name), value=value):
            return [(name, value)]
        case ast.Dict(keys=keys, values=values):
            pairs = zip(keys, values, strict=True)
            return [(str(key.value), value) for key, value in pairs if isinstance(key, ast.Constant)]
        case ast.Call(args=[ast.Constant(value=str(name)), value]):
            return [(name, value)]
    return []


def _places(subject: Subject, text: str) -> list[str]:
    data = text.encode()
    log = subject.bench.log
    places = {
        "the plan": text in plan_of_frame(subject.trial.rows),
        "the log of Spark": log is not None and log.is_file() and data in log.read_bytes(),
        "the checkpoint": any(data in path.read_bytes() for path in _files(subject.trial.folder)),
    }
    return [place for place, is_there in places.items() if is_there]


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def _printed(places: list[str]) -> str:
    return f", and Spark prints it in {' and '.join(places)}" if places else ""
