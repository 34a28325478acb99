"""Fill generated records with strings that the query can parse: times in its format, values between its separators."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from pyspark.sql import DataFrame

from spark_rtm.prove.records.samples import compared_texts, fields_of, is_time
from spark_rtm.testing.records import Sent

COLUMN = r"(?:\w+#\d+L?\.)?(?P<column>\w+)(?:#\d+L?)?"
# `cast(data#5.price as double)`, and `to_timestamp(created#7, Some(dd/MM/yyyy), TimestampType, Some(UTC), true)`
CAST = re.compile(rf"cast\({COLUMN} as (?P<kind>\w+)")
PARSED = re.compile(
    rf"(?:to_timestamp\w*|to_date|unix_timestamp|to_unix_timestamp|gettimestamp)\({COLUMN}, "
    r"(?:None|(?:Some\()?(?P<format>[\w' :/.-]+)\)?),"
)
# `cast(split(value#8, ;, -1)[2] as int)`, or `split(value#8, ;, -1) AS p#9` and `cast(p#9[2] as int)`
SPLIT = re.compile(rf"split\({COLUMN}, (?P<separator>.{{1,4}}?), -1\)(?: AS (?P<name>\w+#\d+))?")
ITEM = r"\[(?P<index>\d+)\](?: as (?P<kind>\w+)|, (?:Some\()?(?P<format>[^#,()]*(?:yy|MM|dd|HH)[^#,()]*))?"
DECODER = re.compile(r"from_(?:json|csv|avro|xml|protobuf)\(|get_json_object|json_tuple|variant", re.IGNORECASE)
MADE = re.compile(r"a\d")
MOMENT, DATE = "yyyy-MM-dd HH:mm:ss", "yyyy-MM-dd"
NUMBERS = {"tinyint", "smallint", "int", "bigint", "float", "double", "decimal"}
# Letters in Java date patterns, longest first, and the equivalent `strftime` directives.
LETTERS = {
    "yyyy": "%Y", "yy": "%y", "MM": "%m", "dd": "%d", "HH": "%H", "hh": "%I", "mm": "%M", "ss": "%S",
    "SSSSSS": "%f", "SSS": "000", "XXX": "+00:00", "XX": "+0000", "X": "Z", "Z": "+0000", "a": "%p",
}  # fmt: skip


def adapted(rows: DataFrame, made: Sequence[Sent]) -> list[Sent]:
    """Replace strings in generated records with parseable strings, except strings that the query compares."""
    plan = str(rows._jdf.queryExecution().analyzed())  # noqa: SLF001 - PySpark has no plan as text
    kept, found = compared_texts(rows), list[Sent]()
    for position, sent in enumerate(made):
        number = position % 2 + 1
        if not DECODER.search(plan):
            # The query splits the record's whole text.
            lines = split_texts(plan, number).values()
            found.append(replace(sent, value=max(lines, key=len).encode()) if lines else sent)
            continue
        fields = fields_of(sent) or {}
        texts = {name: text for name, text in parsed_texts(plan, number).items() if name not in kept}
        # Any other text was chosen to pass one of the query's filters.
        changed = {n: text for n, text in texts.items() if is_time(n) or MADE.fullmatch(str(fields.get(n)))}
        changed = {name: text for name, text in changed.items() if isinstance(fields.get(name), str)}
        found.append(replace(sent, value=json.dumps(fields | changed).encode()) if changed else sent)
    return found


def parsed_texts(plan: str, number: int) -> dict[str, str]:
    """Return a string for each column that an analyzed plan parses as a time, a number or several values."""
    found = {match["column"]: time_in(match["format"] or MOMENT) for match in PARSED.finditer(plan)}
    for match in CAST.finditer(plan):
        if text := _of_kind(match["kind"], number):
            found.setdefault(match["column"], text)
    return found | split_texts(plan, number)


def split_texts(plan: str, number: int) -> dict[str, str]:
    """Return a string for each column that the plan splits, with all the values that the plan reads."""
    found = dict[str, str]()
    for match in SPLIT.finditer(plan):
        start = re.escape(match["name"] or match[0])
        items = {int(item["index"]): _of_item(item, number) for item in re.finditer(start + ITEM, plan)}
        values = [items.get(n) or f"a{number}" for n in range(max(items, default=-1) + 1)]
        text = re.sub(r"\\(.)|\[(.)\]", r"\1\2", match["separator"]).join(values)
        found[match["column"]] = max(text, found.get(match["column"], ""), key=len)
    return {column: text for column, text in found.items() if text}


def time_in(pattern: str) -> str:
    """Return the current time, formatted with a Java date pattern."""
    tokens = re.findall("'[^']*'|" + "|".join(LETTERS) + "|.", pattern)
    return datetime.now(UTC).strftime("".join(LETTERS.get(token, token.strip("'")) for token in tokens))


def _of_item(item: re.Match[str], number: int) -> str:
    return time_in(item["format"]) if item["format"] else _of_kind(item["kind"] or "", number)


def _of_kind(kind: str, number: int) -> str:
    if kind in NUMBERS:
        return str(number)
    if kind == "boolean":
        return "true"
    return time_in(DATE if kind == "date" else MOMENT) if kind in {"timestamp", "date"} else ""
