"""Apply PySpark method calls to a stream writer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from spark_rtm.lint.spark.streams import Arguments, Trigger, Writer
from spark_rtm.lint.spark.values import Const, Unknown, Value, alternatives, texts_of

UNKNOWN_KEY = "\0"
"""Key for options with unknown names."""


def changed_writer(writer: Writer, name: str, given: Arguments, line: int, lines: frozenset[int]) -> Writer:
    """Return the writer after a call of its method `name`. `lines` are the line numbers of its calls."""
    if name in {"start", "toTable"}:
        return _started(writer, name, given, line, lines)
    changes: dict[str, Any] = {"lines": lines}
    if name == "trigger":
        changes["trigger"] = Trigger(given, line)
    elif name in {"foreach", "foreachBatch"}:
        changes["sinks"] = (*writer.sinks, (name, line))
    elif name == "format":
        changes["format"] = (given.get("source", 0) or Unknown(), line)
    elif name == "outputMode":
        changes["mode"] = (given.get("outputMode", 0) or Unknown(), line)
    elif name in {"option", "options"}:
        added = options_of(name, given, line)
        changes["options"] = options = {**writer.options, **added}
        # An empty dictionary is useless, so code outside this module probably fills it.
        changes["is_open"] = writer.is_open or given.is_open or UNKNOWN_KEY in options or not added
    return replace(writer, **changes)


def _started(writer: Writer, name: str, given: Arguments, line: int, lines: frozenset[int]) -> Writer:
    rest = dict(given.keywords)
    form, mode = rest.pop("format", writer.format), rest.pop("outputMode", writer.mode)
    if name == "toTable":
        form = form or (Const("table"), line)
    for parameter in ("path", "partitionBy", "queryName", "tableName"):
        rest.pop(parameter, None)
    options = {key.lower(): entry for key, entry in rest.items()}
    if name == "start" and given.get("path", 0) is not None:
        options["path"] = (given.get("path", 0) or Unknown(), line)
    sinks = (*writer.sinks, ("toTable", line)) if name == "toTable" else writer.sinks
    return replace(writer, format=form, mode=mode, options={**writer.options, **options}, sinks=sinks, lines=lines,
                   is_open=writer.is_open or given.is_open)  # fmt: skip


def options_of(name: str, given: Arguments, line: int) -> dict[str, tuple[Value, int]]:
    """Return the options that a call of `option` or `options` sets, with lower-case names."""
    if name == "options":
        options = {key.lower(): entry for key, entry in given.keywords.items()}
        return options | ({UNKNOWN_KEY: (Unknown(), line)} if given.is_open else {})
    keys = given.get("key", 0)
    value = given.get("value", 1) or Unknown()
    texts = texts_of(keys)
    if not texts or len(alternatives(keys)) > 1:
        return {UNKNOWN_KEY: (Unknown(), line)} | {text.lower(): (value, line) for text in texts}
    return {texts[0].lower(): (value, line)}
