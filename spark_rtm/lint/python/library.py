"""Compute the results of built-in and standard-library functions from known values."""

import json
import re
import tomllib
from collections.abc import Callable
from importlib import import_module

from spark_rtm.lint.problem import spend
from spark_rtm.lint.python.evaluate import item
from spark_rtm.lint.spark import values as v
from spark_rtm.lint.spark.scope import MILLISECONDS
from spark_rtm.lint.spark.streams import Arguments

COPIES = {"copy.copy", "copy.deepcopy"}
PARSERS: dict[str, Callable[[str], object]] = {
    "json.loads": json.loads,
    "tomllib.loads": tomllib.loads,
    "yaml.safe_load": lambda text: import_module("yaml").safe_load(text),
}
CONVERSIONS: dict[str, v.Value] = {"int": v.Number(), "float": v.Number(), "len": v.Number(),
                                "bool": v.Unknown(v.TRUTH_VALUE)}  # fmt: skip
DELETING = {"shutil.rmtree", "os.system", "subprocess.run", "subprocess.check_call", "subprocess.call"}


def converted(name: str, first: v.Value) -> v.Value | None:
    """Return a conversion function's result, or None for other functions."""
    if name == MILLISECONDS:
        number = getattr(first, "value", None)
        return v.Const(f"{number} milliseconds") if type(number) is int and number > 0 else first
    if name in CONVERSIONS:
        return CONVERSIONS[name]
    if name == "str":
        if isinstance(first, v.Const) and isinstance(first.value, bool):
            return v.Const(str(first.value))
        return first if _is_path(first) else v.Text("\0")
    return first if name in {"Path", "File", "vars"} else None


def pure_call(name: str, given: tuple[v.Value, ...], line: int) -> v.Value | None:
    """Return the result of a library function without side effects, or None for other functions."""
    if name == "os.path.join":
        return v.string("/".join(v.template_of(value) for value in given))
    if name in PARSERS:
        return _parsed(name, given[0], line)
    return given[0] if name in {"pathlib.Path", "pathlib.PurePosixPath", *COPIES} else None


def table_method(table: v.Table, name: str, given: Arguments, line: int) -> v.Value:
    """Return a dictionary method's result."""
    views: dict[str, list[v.Value]] = {
        "items": [v.Items((v.Const(key), value)) for key, (value, _) in table.items.items()],
        "values": [value for value, _ in table.items.values()],
        "keys": [v.Const(key) for key in table.items],
    }
    if name in views:
        return v.Items(tuple(views[name]), table.is_open)
    if name == "copy":
        return v.Table(dict(table.items), table.is_open)
    if name in {"get", "pop"} and given.positional:
        return item(table, given.positional[0])
    if name == "setdefault" and len(given.positional) > 1 and (key := v.text_of(given.positional[0])):
        return table.items.setdefault(key, (given.positional[1], line))[0]
    if name == "update":
        for each in given.positional:
            table.items.update(each.items if isinstance(each, v.Table) else {})
        table.items.update(given.keywords)
        return v.Const(None)
    return v.Unknown()


def deleted_folder(name: str, given: tuple[v.Value, ...]) -> v.Value | None:
    """Return the folder that `rmtree` or `rm -r` deletes, or None for other calls."""
    first = given[0] if given and name in DELETING else None
    if name == "shutil.rmtree":
        return first
    if isinstance(first, v.Items) and [getattr(each, "value", None) for each in first.values[:1]] == ["rm"]:
        return first.values[-1]
    command = re.fullmatch(r"\s*rm\s+-\w*r\w*\s+['\"]?(.+?)['\"]?\s*", v.template_of(first) if first else "", re.DOTALL)
    return v.string(command[1]) if command else None


def _parsed(parser: str, text: v.Value, line: int) -> v.Value:
    """Parse a JSON, TOML or YAML string in the code."""
    try:
        return _converted(PARSERS[parser](v.text_of(text) or ""), line)
    except Exception:  # noqa: BLE001  # PyYAML may be missing, and has its own errors
        return v.Unknown()


def _converted(content: object, line: int) -> v.Value:
    spend()  # YAML aliases can repeat a part many times
    if isinstance(content, dict):
        entries: v.Entries = {str(key): (_converted(value, line), line) for key, value in content.items()}
        return v.Table(entries)
    if isinstance(content, list):
        return v.Items(tuple(_converted(each, line) for each in content))
    return v.Const(content) if isinstance(content, str | int | float | None) else v.Unknown()


def _is_path(value: v.Value) -> bool:
    if isinstance(value, v.Unknown):
        return value.origin.startswith("tempfile.")
    return isinstance(value, v.Text) or (isinstance(value, v.Const) and isinstance(value.value, str))
