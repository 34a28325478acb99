"""Compute the results of functions of Python and its library from known values."""

import json
import re
import tomllib
from collections.abc import Callable

from spark_rtm.lint.python.evaluate import item
from spark_rtm.lint.spark.scope import MILLISECONDS
from spark_rtm.lint.spark.streams import Arguments
from spark_rtm.lint.spark.values import (
    TRUTH_VALUE,
    Const,
    Entries,
    Items,
    Number,
    Table,
    Text,
    Unknown,
    Value,
    string,
    template_of,
    text_of,
)

COPIES = {"copy.copy", "copy.deepcopy"}
PARSERS: dict[str, Callable[[str], object]] = {"json.loads": json.loads, "tomllib.loads": tomllib.loads}
CONVERSIONS: dict[str, Value] = {"int": Number(), "float": Number(), "len": Number(),
                                "bool": Unknown(TRUTH_VALUE)}  # fmt: skip
DELETING = {"shutil.rmtree", "os.system", "subprocess.run", "subprocess.check_call", "subprocess.call"}


def converted(name: str, first: Value) -> Value | None:
    """Return the result of a function that converts its argument, or None for other functions."""
    if name == MILLISECONDS:
        number = getattr(first, "value", None)
        return Const(f"{number} milliseconds") if type(number) is int and number > 0 else first
    if name in CONVERSIONS:
        return CONVERSIONS[name]
    if name == "str":
        if isinstance(first, Const) and isinstance(first.value, bool):
            return Const(str(first.value))
        return first if _is_path(first) else Text("\0")
    return first if name in {"Path", "File"} else None


def pure_call(name: str, given: tuple[Value, ...], line: int) -> Value | None:
    """Return the result of a library function without effects, or None for other functions."""
    if name == "os.path.join":
        return string("/".join(template_of(value) for value in given))
    if name in PARSERS:
        return _parsed(name, given[0], line)
    return given[0] if name in {"pathlib.Path", "pathlib.PurePosixPath", *COPIES} else None


def table_method(table: Table, name: str, given: Arguments, line: int) -> Value:
    """Return the result of a method of a dictionary."""
    views: dict[str, list[Value]] = {
        "items": [Items((Const(key), value)) for key, (value, _) in table.items.items()],
        "values": [value for value, _ in table.items.values()],
        "keys": [Const(key) for key in table.items],
    }
    if name in views:
        return Items(tuple(views[name]), table.is_open)
    if name == "copy":
        return Table(dict(table.items), table.is_open)
    if name in {"get", "pop"} and given.positional:
        return item(table, given.positional[0])
    if name == "setdefault" and len(given.positional) > 1 and (key := text_of(given.positional[0])):
        return table.items.setdefault(key, (given.positional[1], line))[0]
    if name == "update":
        for each in given.positional:
            table.items.update(each.items if isinstance(each, Table) else {})
        table.items.update(given.keywords)
        return Const(None)
    return Unknown()


def deleted_folder(name: str, given: tuple[Value, ...]) -> Value | None:
    """Return the folder that `rmtree` or `rm -r` deletes, or None for other calls."""
    first = given[0] if given and name in DELETING else None
    if name == "shutil.rmtree":
        return first
    if isinstance(first, Items) and [getattr(each, "value", None) for each in first.values[:1]] == ["rm"]:
        return first.values[-1]
    command = re.fullmatch(r"\s*rm\s+-\w*r\w*\s+['\"]?(.+?)['\"]?\s*", template_of(first) if first else "", re.DOTALL)
    return string(command[1]) if command else None


def _parsed(parser: str, text: Value, line: int) -> Value:
    """Return the value of a JSON or TOML text in the code."""
    try:
        return _converted(PARSERS[parser](text_of(text) or ""), line)
    except (ValueError, RecursionError):
        return Unknown()


def _converted(content: object, line: int) -> Value:
    if isinstance(content, dict):
        entries: Entries = {str(key): (_converted(value, line), line) for key, value in content.items()}
        return Table(entries)
    if isinstance(content, list):
        return Items(tuple(_converted(each, line) for each in content))
    return Const(content) if isinstance(content, str | int | float | None) else Unknown()


def _is_path(value: Value) -> bool:
    if isinstance(value, Unknown):
        return value.origin.startswith("tempfile.")
    return isinstance(value, Text) or (isinstance(value, Const) and isinstance(value.value, str))
