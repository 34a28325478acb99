"""Rules about a query's trigger."""

import re
from collections.abc import Iterator

from spark_rtm.lint.problem import Problem
from spark_rtm.lint.rules.rule import Rules
from spark_rtm.lint.spark.intervals import interval_problem, not_a_text, written_out
from spark_rtm.lint.spark.module import Module
from spark_rtm.lint.spark.streams import Trigger
from spark_rtm.lint.spark.values import Const, Items, Library, Number, Table, Text, alternatives, quoted, text_of

RULES = Rules()
FIX = 'write realTime="5 minutes"'
JVM_FIX = 'write Trigger.RealTime("5 minutes"), or on Databricks RealTimeTrigger.apply("5 minutes")'
SCALA_TRIGGERS = {"RealTimeTrigger", "Trigger", "Triggers"}
STREAMING_MODULES = ("pyspark.sql.streaming", "pyspark.sql.streaming.readwriter", "pyspark.sql")


@RULES.add("trigger-duration")
def trigger_duration(module: Module) -> Iterator[Problem]:
    """
    Checks for `realTime` values that are not duration strings: booleans, numbers, `None`, empty strings, objects.

    Why: PySpark requires a non-empty string. Other values raise VALUE_NOT_NON_EMPTY_STR or ONLY_ALLOW_SINGLE_TRIGGER.

    Reported at: the value of `realTime`, even in a dictionary.

    Example: writer.trigger(realTime=True).start()
    Use instead: writer.trigger(realTime="5 minutes").start()
    Source: [test], [guide]
    """
    for trigger in module.triggers:
        value = trigger.arguments.get("realTime")
        line = trigger.line_of("realTime")
        if value == Const(None) and not trigger.kinds and not trigger.arguments.is_open:
            message = "realTime=None does not set a trigger, so PySpark raises ONLY_ALLOW_SINGLE_TRIGGER"
            yield Problem(line, message, FIX, lines=trigger.lines)
        for each in alternatives(value):
            literal = not_a_text(each)
            if literal and each != Const(None):
                message = f"realTime={literal} is not a duration, so PySpark raises VALUE_NOT_NON_EMPTY_STR"
                yield Problem(line, message, FIX, lines=trigger.lines)


@RULES.add("trigger-form")
def trigger_form(module: Module) -> Iterator[Problem]:
    """
    Checks for triggers in a form that PySpark does not support: Scala objects, misspelled keywords, writer options.

    Why: In PySpark, only the `realTime` keyword selects real-time mode. Other forms fail or select micro-batch mode.

    Reported at: the call to `trigger`, the option or the import.

    Example: writer.trigger(real_time="5 minutes").start()
    Use instead: writer.trigger(realTime="5 minutes").start()
    Source: [test], [guide]
    """
    for trigger in module.triggers:
        for form in _unsupported_forms(trigger):
            message = f"PySpark does not accept {form}, so the call fails and no query starts"
            yield Problem(trigger.line, message, f"{FIX} in trigger(...)", lines=trigger.lines)
    yield from _in_declarations(module)


@RULES.add("trigger-interval")
def trigger_interval(module: Module) -> Iterator[Problem]:
    """
    Checks for durations that Spark cannot parse or that are too short.

    Why: Units must be spelled out, so `ms` and `5m` fail. The duration is the time between two commits, not a latency.

    Both engines: a duration that Spark cannot parse.
    OSS: a duration below 5 seconds; no minimum is documented for Databricks.

    Reported at: the duration, even in a dictionary.

    Example: writer.trigger(realTime="500 ms").start()
    Use instead: writer.trigger(realTime="5 minutes").start()
    Source: [test], [guide]
    """
    for trigger in module.triggers:
        line = trigger.line_of("realTime")
        for each in alternatives(trigger.value("realTime")):
            interval, problem, engine = interval_problem(each, module.min_batch_ms)
            if problem:
                message = f"the interval {quoted(interval)} {problem}"
                yield Problem(line, message, f'write realTime="{written_out(interval)}"', engine, lines=trigger.lines)


@RULES.add("trigger-several")
def trigger_several(module: Module) -> Iterator[Problem]:
    """
    Checks for `realTime` together with another trigger keyword.

    Why: A query has exactly one trigger, so PySpark raises ONLY_ALLOW_SINGLE_TRIGGER.

    Reported at: the call to `trigger`.

    Example: writer.trigger(realTime="5 minutes", processingTime="1 second").start()
    Use instead: writer.trigger(realTime="5 minutes").start()
    Source: [test]
    """
    for trigger in module.triggers:
        values = {name: trigger.value(name) for name in trigger.kinds}
        certain = [name for name, value in values.items() if isinstance(value, Const | Text | Number | Table | Items)]
        if "realTime" in certain and len(certain) > 1:
            message = f"{' and '.join(certain)} are mutually exclusive, so PySpark raises ONLY_ALLOW_SINGLE_TRIGGER"
            yield Problem(trigger.line, message, "keep only realTime", lines=trigger.lines)


def _in_declarations(module: Module) -> Iterator[Problem]:
    """Yield problems of triggers that are not Python calls: Scala and Java code, imports and options."""
    for form, line in module.forms:
        yield Problem(line, f"{form} does not exist, so the code does not compile", JVM_FIX)
    for name, line in module.imports:
        parent, _, last = name.rpartition(".")
        if parent in STREAMING_MODULES and last in SCALA_TRIGGERS:
            message = f"{last} does not exist in PySpark, so the import fails"
            yield Problem(line, message, f"delete the import and {FIX} in trigger(...)")
    for writer in {query.writer for query in module.queries}:
        for key in ("realtime", "realtimemode", "trigger", "real_time"):
            value = (text_of(writer.options[key][0]) or "").lower() if key in writer.options else ""
            if key in writer.options and (key != "trigger" or re.search("real[-_ ]?time", value)):
                message = f"the {key!r} option does not exist, so the query runs in micro-batch mode"
                yield Problem(writer.options[key][1], message, f"{FIX} in trigger(...)", lines=writer.lines)


def _unsupported_forms(trigger: Trigger) -> Iterator[str]:
    for value in trigger.arguments.positional:
        is_real_time = "RealTime" in getattr(value, "origin", "") or "RealTime" in getattr(value, "name", "")
        is_real_time |= isinstance(value, Const) and isinstance(value.value, bool)
        if is_real_time or (text_of(value) or "").replace("_", "").lower() == "realtime":
            yield "a trigger without a keyword"
    for name in trigger.arguments.keywords:
        if name != "realTime" and name.replace("_", "").lower() in {"realtime", "realtimemode"}:
            yield f"the keyword {quoted(name)}"
    for value in alternatives(trigger.value("realTime")):
        if isinstance(value, Library) or "rigger" in getattr(value, "origin", ""):
            yield "a trigger object"
