"""
Know what the engine can refuse, what the pages quote of it, and what really happens.

Spark's own list of error conditions and the pages about errors arrive; conditions, quotes and failures leave.
Real-time mode fails at two moments, so a failure is its moment and its exception.
"""

import contextlib
import json
import re
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path

import pyspark
from pyspark.errors.error_classes import ERROR_CLASSES_MAP
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from scripts.pack import files
from scripts.text import markdown
from tests.helpers import eventually
from tests.pages.examples import EXAMPLES, Example
from tests.pages.running import Place, fresh_session
from tests.pages.samples import feed

PAGES = sorted((files.ROOT / "references").glob("errors*.md"))
DEADLINE_SECONDS = 60.0
# Words by which Spark's list names the mode, and the shuffle that only this mode uses.
SUBJECT = re.compile(r"real.?time mode|real.?time trigger|pipelined(?![a-z])", re.IGNORECASE)
QUOTE = re.compile(r"^> (`+) ?(?P<text>.+?) ?\1$")

Failure = tuple[str, BaseException]


def spark_templates() -> dict[str, str]:
    """Return each condition of Spark's own list with the template of its message; sub-classes have a dot."""
    (jar,) = (Path(pyspark.__file__).parent / "jars").glob("spark-common-utils_*.jar")
    with zipfile.ZipFile(jar) as archive:
        conditions = json.loads(archive.read("error/error-conditions.json"))
    templates = {}
    for name, condition in conditions.items():
        templates[name] = "\n".join(condition["message"])
        for part, sub_class in condition.get("subClass", {}).items():
            templates[f"{name}.{part}"] = "\n".join(sub_class["message"])
    return templates


def python_templates() -> dict[str, str]:
    """Return the conditions that PySpark raises itself."""
    return {name: "\n".join(condition["message"]) for name, condition in ERROR_CLASSES_MAP.items()}


def about_real_time_mode(templates: dict[str, str]) -> set[str]:
    """Return the conditions about real-time mode, without a class that only gathers sub-classes."""
    families = {name.partition(".")[0] for name in templates if "." in name}
    known = {name for name in families if SUBJECT.search(name.replace("_", " ") + templates[name])}
    return {
        name
        for name, template in templates.items()
        if name not in families
        and (SUBJECT.search(f"{name.replace('_', ' ')} {template}") or name.partition(".")[0] in known)
    }


def unproved(conditions: Iterable[str], provoked_by_tests: Iterable[str]) -> list[str]:
    """Return what neither a fence nor a test provokes, or no heading or row of the pages about errors names."""
    provoked = {example.fence.options.get("raises") for example in EXAMPLES} | set(provoked_by_tests)
    lines = [line for page in PAGES for line in page.read_text(encoding="utf-8").splitlines() if line[:1] in ("|", "#")]
    named = {name for line in lines for name in re.findall(r"`([A-Z][A-Z0-9_.]+)`", line)}
    return sorted(name for name in conditions if name not in provoked & named)


def refused_examples() -> list[Example]:
    """Return the blocks of the pages about errors that must fail, without the index."""
    pages = {files.relative(files.ROOT, page) for page in PAGES if page.stem != "errors"}
    return [example for example in EXAMPLES if example.page in pages and example.fate == "raises"]


def quotes(page: Path) -> dict[str, int]:
    """Return the messages that a page quotes, with the line of the fence that follows in the section, or 0."""
    text = page.read_text(encoding="utf-8")
    headings = [heading.line for heading in markdown.headings(text)]
    fences = [fence.line for fence in markdown.fences(text)]
    found = {}
    for number, line in enumerate(markdown.prose(text), 1):
        if match := QUOTE.match(line):
            end = min((start for start in headings if start > number), default=len(text))
            found[match["text"]] = min((start for start in fences if number < start < end), default=0)
    return found


def failure(
    run: Callable[[SparkSession], Iterable[object]], place: Place, topics: Iterable[str] = ("clicks",)
) -> Failure:
    """Run code that starts queries, and return whether it failed at the start or later, and the exception."""
    with fresh_session(place.spark) as session, contextlib.chdir(place.folder):
        try:
            queries = [value for value in run(session) if isinstance(value, StreamingQuery)]
        except Exception as error:  # noqa: BLE001 - whatever it is, it is compared
            return "start", error

        def ended() -> BaseException | None:
            feed(place.kafka, list(topics))
            return next((found for query in queries if (found := query.exception())), None)

        return "later", eventually(ended, DEADLINE_SECONDS, "a failure of the query") or AssertionError("none")


def template(condition: str) -> str:
    """Return the template of a condition's message, with that of its family; nothing if no list has it."""
    known = {**python_templates(), **spark_templates()}
    return "\n".join({known.get(name, ""): None for name in (condition.partition(".")[0], condition)})


def foreign(quoted: Iterable[str], condition: str, error: object) -> list[str]:
    """Return what of the quoted texts stands neither in the condition's template nor in what was raised."""
    return [text for text in quoted if text not in template(condition) and text not in str(error)]
