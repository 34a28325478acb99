import json
import re
import zipfile
from collections.abc import Iterable
from pathlib import Path

import pyspark
from pyspark.errors.error_classes import ERROR_CLASSES_MAP

from scripts.pack import files
from spark_rtm.text import markdown
from spark_rtm.text.explanations import PLACEHOLDER
from tests.pages.examples import EXAMPLES, Example

PAGES = sorted((files.ROOT / "references").glob("errors*.md"))
# Terms that Spark's list uses for real-time mode, and for the shuffle that only this mode uses.
REAL_TIME_TERMS = re.compile(r"real.?time mode|real.?time trigger|pipelined(?![a-z])", re.IGNORECASE)
QUOTE = re.compile(r"^> (`+) ?(?P<text>.+?) ?\1$")


def spark_templates() -> dict[str, str]:
    """Return the message template of each condition in Spark's own list; names of subclasses contain a dot."""
    (jar,) = (Path(pyspark.__file__).parent / "jars").glob("spark-common-utils_*.jar")
    with zipfile.ZipFile(jar) as archive:
        conditions = json.loads(archive.read("error/error-conditions.json"))
    templates = {}
    for name, condition in conditions.items():
        templates[name] = "\n".join(condition["message"])
        for part, subclass in condition.get("subClass", {}).items():
            templates[f"{name}.{part}"] = "\n".join(subclass["message"])
    return templates


def about_real_time_mode(templates: dict[str, str]) -> set[str]:
    families = {name.partition(".")[0] for name in templates if "." in name}
    known = {name for name in families if REAL_TIME_TERMS.search(name.replace("_", " ") + templates[name])}
    return {
        name
        for name, template in templates.items()
        if name not in families
        and (REAL_TIME_TERMS.search(f"{name.replace('_', ' ')} {template}") or name.partition(".")[0] in known)
    }


def unproved(conditions: Iterable[str], reproduced_by_tests: Iterable[str]) -> list[str]:
    reproduced = {example.fence.options.get("raises") for example in EXAMPLES} | set(reproduced_by_tests)
    lines = [
        line
        for page in PAGES
        for line in page.read_text(encoding="utf-8").splitlines()
        if line[:1] in "|#`" or "raises" in line
    ]
    named = {name for line in lines for name in re.findall(r"[`\"]([A-Z][A-Z0-9_.]+)[`\"]", line)}
    return sorted(name for name in conditions if name not in reproduced & named)


def refused_examples() -> list[Example]:
    pages = {files.relative(files.ROOT, page) for page in PAGES if page.stem != "errors"}
    return [example for example in EXAMPLES if example.page in pages and example.fate == "raises"]


def quotes(page: Path) -> dict[str, int]:
    """Return the messages that a page quotes, with the line of the next fence in the section, or 0 if there is none."""
    text = page.read_text(encoding="utf-8")
    headings = [heading.line for heading in markdown.headings(text)]
    fences = [fence.line for fence in markdown.fences(text)]
    fence_lines = {}
    for number, line in enumerate(markdown.prose(text), 1):
        if match := QUOTE.match(line):
            end = min((start for start in headings if start > number), default=len(text))
            fence_lines[match["text"]] = min((start for start in fences if number < start < end), default=0)
    return fence_lines


def template(condition: str) -> str:
    """Return the message templates of a condition and of its family, or an empty string if no list has them."""
    of_pyspark = {name: "\n".join(condition["message"]) for name, condition in ERROR_CLASSES_MAP.items()}
    known = {**of_pyspark, **spark_templates()}
    return "\n".join({known.get(name, ""): None for name in (condition.partition(".")[0], condition)})


def unmatched_quotes(quoted: Iterable[str], condition: str, error: object) -> list[str]:
    expected, message = template(condition), str(error)
    return [
        text for text in quoted if text not in expected and not all(part in message for part in PLACEHOLDER.split(text))
    ]
