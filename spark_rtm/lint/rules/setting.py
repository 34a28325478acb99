"""Rules about Kafka options and session settings."""

import re
from collections.abc import Iterator
from difflib import get_close_matches

from spark_rtm.lint.problem import Problem
from spark_rtm.lint.rules.rule import DATABRICKS_ONLY, OSS_ONLY, Rules
from spark_rtm.lint.spark.known_settings import ALLOWLIST_CHECK, CHECKPOINT_V1, FLAG, is_switch, nearest
from spark_rtm.lint.spark.module import Module
from spark_rtm.lint.spark.streams import Query, Source
from spark_rtm.lint.spark.values import as_text, quoted

RULES = Rules()
ROCKSDB = "RocksDBStateStoreProvider"
SOURCE_OPTIONS = {
    "maxoffsetspertrigger": ("has no effect, because real-time mode reads without a limit; OSS rejects the option", ()),
    "minoffsetspertrigger": ("is rejected because real-time mode reads without a limit", OSS_ONLY),
    "maxtriggerdelay": ("is rejected because real-time mode reads without a limit", OSS_ONLY),
    "minpartitions": ("is rejected because each topic partition has exactly one task", OSS_ONLY),
    "maxrecordsperpartition": ("has no effect in real-time mode", OSS_ONLY),
    "maxpartitions": ("has no effect, because only Databricks supports it", OSS_ONLY),
    "failondataloss": ("has no effect, so the query fails with OffsetOutOfRange after data loss", OSS_ONLY),
    "endingoffsets": ("is rejected because a stream has no end", ()),
    "endingtimestamp": ("is rejected because a stream has no end", ()),
    "endingoffsetsbytimestamp": ("is rejected because a stream has no end", ()),
    "kafka.enable.auto.commit": ("is rejected because Spark manages the offsets itself", ()),
    "kafka.auto.offset.reset": ("is rejected because Spark uses startingOffsets for this purpose", ()),
}
SINK_OPTIONS = {
    "kafka.transactional.id": ("makes the first row fail, because the Kafka sink has no transactions", OSS_ONLY),
    "kafka.key.serializer": ("is rejected because the sink writes keys as bytes", ()),
    "kafka.value.serializer": ("is rejected because the sink writes values as bytes", ()),
}
IGNORED_OPTIONS = {"maxrecordsperpartition", "maxpartitions", "failondataloss"}
KNOWN_OPTIONS = ("asyncProgressTrackingCheckpointIntervalMs", "asyncProgressTrackingEnabled",
                 "checkpointLocation", "failOnDataLoss", "includeHeaders", "kafka.bootstrap.servers",
                 "maxOffsetsPerTrigger", "maxPartitions", "minPartitions", "startingOffsets",
                 "startingOffsetsByTimestamp", "startingTimestamp", "subscribe", "subscribePattern")  # fmt: skip
"""Options whose misspellings are reported, because Spark ignores unknown options."""
SHOWN = {name.lower(): name for name in (*KNOWN_OPTIONS, "minOffsetsPerTrigger", "maxTriggerDelay", "endingOffsets",
         "maxRecordsPerPartition", "endingTimestamp", "endingOffsetsByTimestamp")}  # fmt: skip
LOSS_FIX = "make the topic's retention longer than the longest downtime of the query"
CLIENT = re.compile(r"kafka\.(?:consumer|producer)\.(?P<name>.+)")
OPTION_CUTOFF, ASYNC_CUTOFF = 0.9, 0.6
TRIGGER = '.trigger(realTime="5 minutes")'
STREAMING = ("spark.sql.streaming.", "spark.databricks.streaming.")
REFUSED_SETTINGS = {
    "spark.sql.streaming.stateStore.checkpointFormatVersion": ("0|1", "2"),
    "spark.sql.streaming.stateStore.providerClass": (rf"(?!.*(?:{ROCKSDB}|databricks)).*", f"the class {ROCKSDB}"),
    "spark.sql.execution.sortBeforeRepartition": ("true", "false"),
}
"""Patterns for rejected values by setting, each with an accepted value."""
CHECKS = {
    **{prefix + ALLOWLIST_CHECK: ("false", "Spark accepts operators that delay rows") for prefix in STREAMING},
    **{prefix + CHECKPOINT_V1: ("true", "the query can lose its state") for prefix in STREAMING},
    "spark.sql.streaming.unsupportedOperationCheck": ("false", "unsupported operators return wrong results"),
    "spark.sql.streaming.stateStore.stateSchemaCheck": ("false", "Spark misreads state if its columns have changed"),
}
"""Settings that can switch off a check, each with the value that switches it off, and the consequence."""
OBSOLETE = ("MultiShuffleManager", "StreamingShuffleManager", "ConcurrentStageDAGScheduler")


@RULES.add("option", subject="query")
def option(query: Query) -> Iterator[Problem]:
    """
    Checks for Kafka options that real-time mode rejects or ignores.

    Why: A rejected option makes the query fail. An ignored option suggests a limit that does not exist.

    Both engines: `maxOffsetsPerTrigger`, `endingOffsets`, `kafka.enable.auto.commit`, `kafka.auto.offset.reset`,
    key and value serializers.
    OSS: `minPartitions`, `minOffsetsPerTrigger`, `maxTriggerDelay`, `kafka.transactional.id`; a warning for
    `maxPartitions`, `maxRecordsPerPartition` and `failOnDataLoss=false`, which have no effect on OSS.

    Reported at: the option, even in a dictionary.

    Example: spark.readStream.format("kafka").option("maxOffsetsPerTrigger", 1000)
    Use instead: spark.readStream.format("kafka").option("startingOffsets", "earliest")
    Source: [test], [options](sources_sinks_operators.md#options-and-settings),
    [data loss](errors_kafka.md#offset-out-of-range)
    """
    given = [(SOURCE_OPTIONS, each.options) for each in query.writer.frame.sources if isinstance(each, Source)]
    for refused, options in [*given, (SINK_OPTIONS, query.writer.options)]:
        for key, (value, line) in options.items():
            if key in refused and (key != "failondataloss" or as_text(value) == "false"):
                reason, engines = refused[key]
                severity = "warning" if key in IGNORED_OPTIONS else "error"
                fix = LOSS_FIX if key == "failondataloss" else "remove the option"
                yield Problem(line, f"the {SHOWN.get(key, key)!r} option {reason}", fix, engines, severity)


@RULES.add("option-name", severity="warning")
def option_name(module: Module) -> Iterator[Problem]:
    """
    Checks for misspelled options of the Kafka source and sink, and of asynchronous progress tracking.

    Why: Spark ignores an unknown option without an error, so the default applies.

    Reported at: the option, even in a dictionary.

    Example: writer.option("asyncProgressCheckpointingInterval", "0").trigger(realTime="5 minutes").start()
    Use instead: writer.option("asyncProgressTrackingCheckpointIntervalMs", "0").trigger(realTime="5 minutes").start()
    Source: [async]
    """
    names = {name.lower(): name for name in KNOWN_OPTIONS}
    for query in module.queries:
        sources = [each for each in query.writer.frame.sources if isinstance(each, Source)]
        given = [each.options for each in sources if each.is_kafka]
        for key, (_, line) in [entry for options in [*given, query.writer.options] for entry in options.items()]:
            cutoff = ASYNC_CUTOFF if key.startswith("async") else OPTION_CUTOFF
            if key not in names.keys() | SOURCE_OPTIONS.keys() and (near := get_close_matches(key, names, 1, cutoff)):
                message = f"the {key!r} option does not exist, so Spark ignores it"
                yield Problem(line, message, f"did you mean {names[near[0]]!r}?", lines=query.writer.lines)
            if client := CLIENT.fullmatch(key):
                message = f"the {key!r} option does not exist, so the Kafka client ignores it"
                yield Problem(line, message, f"did you mean 'kafka.{client['name']}'?", lines=query.writer.lines)


@RULES.add("setting", OSS_ONLY)
def setting(module: Module) -> Iterator[Problem]:
    """
    Checks for session settings that prevent a real-time query from starting.

    Why: Real-time mode requires different values for these settings.

    OSS: a state store other than RocksDB, checkpoint format 1, and `sortBeforeRepartition=true`, which fail with
    SQL_CONFIGURATION_NOT_SUPPORTED.
    Databricks: Photon, and a state store class that does not exist.

    Reported at: the call that sets the key, or its entry in a dictionary.

    Example: spark.conf.set("spark.sql.streaming.stateStore.checkpointFormatVersion", "1")
    Use instead: spark.conf.set("spark.sql.streaming.stateStore.checkpointFormatVersion", "2")
    Source: [test], [setup]
    """
    if not (module.real_time or module.is_for_real_time):
        return
    for value, line in module.setting("spark.databricks.photon.enabled"):
        if value == "true":
            message = "Photon is on, but real-time mode does not support Photon"
            yield Problem(line, message, "turn Photon off", DATABRICKS_ONLY)
    for value, line in module.setting("spark.sql.streaming.stateStore.providerClass"):
        if value and ".databricks." in value and not value.endswith("StateStoreProvider"):
            message = f"the class {quoted(value)} does not exist, so stateful queries fail"
            yield Problem(line, message, f"write com.databricks.sql.streaming.state.{ROCKSDB}", DATABRICKS_ONLY)
    for key, (refused, right) in REFUSED_SETTINGS.items():
        values = module.setting(key)
        bad = [(value, line) for value, line in values if value and re.fullmatch(refused, value)]
        # A module that also sets an accepted value switches between modes intentionally.
        for value, line in bad if len(bad) == len(values) else []:
            message = f"{key} is {quoted(value)}, so real-time queries fail with SQL_CONFIGURATION_NOT_SUPPORTED"
            yield Problem(line, message, f"leave the key unset or use {right}")


@RULES.add("unknown-setting", severity="warning")
def unknown_setting(module: Module) -> Iterator[Problem]:
    """
    Checks for settings of streaming or real-time mode that do not exist.

    Why: Spark ignores an unknown key without an error. Only the trigger turns real-time mode on.

    Both engines: an error for an unknown key that is clearly meant to turn the mode on; a warning for a misspelled key.
    OSS: a warning for other unknown keys of real-time mode.

    Reported at: the call that sets the key, or its entry in a dictionary or definition.

    Example: spark.conf.set("spark.sql.streaming.realTimeMode.enabled", "true")
    Use instead: spark.conf.get("spark.sql.streaming.realTimeMode.minBatchDuration")
    Source: [test]
    """
    for each in module.settings:
        near = nearest(each.key)
        if near is None or (is_switch(each.key) and as_text(each.value) == "false"):
            continue
        message = f"the {each.key!r} setting does not exist, so Spark ignores it"
        if is_switch(each.key):
            message += ", and Spark does not report it"
            fix = f'{TRIGGER} turns the mode on; on Databricks, the cluster also needs "{FLAG}"'
            yield Problem(each.line, message, fix, severity="error")
        elif near:
            yield Problem(each.line, message, f"did you mean {near!r}?")
        else:
            yield Problem(each.line, message, "remove the setting", OSS_ONLY)


@RULES.add("check-off", severity="warning")
def check_off(module: Module) -> Iterator[Problem]:
    """
    Checks for settings that switch off a check of real-time mode or of state.

    Why: The check rejects queries that lose, delay or misread rows. Without the check, these faults cause no error.

    Reported at: the call that sets the key, or its entry in a dictionary or definition.

    Example: spark.conf.set("spark.sql.streaming.realTimeMode.allowlistCheck", "false")
    Use instead: spark.conf.set("spark.sql.streaming.realTimeMode.allowlistCheck", "true")
    Source: [test], [error list]
    """
    for key, (value, consequence) in CHECKS.items():
        for text, line in module.setting(key) if "realTimeMode" in key or module.real_time else ():
            if text is not None and text.lower() == value:
                message = f"{key} is {text}, so {consequence}"
                yield Problem(line, message, "remove the setting, and correct the code that fails the check")


@RULES.add("shuffle-manager", severity="warning")
def shuffle_manager(module: Module) -> Iterator[Problem]:
    """
    Checks for the shuffle manager and the scheduler that early demonstrations of real-time mode set.

    Why: OSS 4.3.0 chooses the shuffle of real-time mode automatically, and the Databricks setup page lists neither.

    Reported at: the call that sets the key, or its entry in a dictionary or definition.

    Example: spark.conf.set("spark.shuffle.manager", "org.apache.spark.shuffle.streaming.MultiShuffleManager")
    Use instead: spark.conf.get("spark.shuffle.manager", "sort")
    Source: [setup]
    """
    for key in ("spark.shuffle.manager", "spark.databricks.dagScheduler.type"):
        for text, line in module.setting(key):
            if text and text.endswith(OBSOLETE):
                message = f"{key}={text.rpartition('.')[2]} is obsolete: real-time mode chooses it automatically"
                yield Problem(line, message, "remove the setting")


@RULES.add("flag-in-session", DATABRICKS_ONLY)
def flag_in_session(module: Module) -> Iterator[Problem]:
    """
    Checks for sessions that set the Databricks real-time mode flag, which must be set on the cluster.

    Why: The cluster reads the flag when it boots, so a flag set in a session is too late.

    Reported at: the call that sets the flag, or its entry in a dictionary.

    Example: spark.conf.set("spark.databricks.streaming.realTimeMode.enabled", "true")
    Use instead: spark.conf.get("spark.databricks.streaming.realTimeMode.enabled", "false")
    Source: [setup]
    """
    for value, line in module.setting(FLAG):
        if value != "false":
            message = (
                "the cluster reads the real-time mode flag when it boots, so setting the flag in a session is too late"
            )
            yield Problem(line, message, f"add `{FLAG} true` to the cluster's Spark config")
