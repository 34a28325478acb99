"""
Raise one alert when a machine's value exceeds a limit, and clear the alert when the value has fallen again.

The processor is written in Python. `spark_rtm` provides `transform_with_state`, which runs the processor in real-time
mode on OSS 4.3.0.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle, TimerValues
from pyspark.sql.types import StructType

from examples.alerts.alarms_to_first import SKEW_MS
from examples.alerts.decoding import decode, group_of, newest, route
from examples.alerts.job import Job
from spark_rtm.realtime.python_state import transform_with_state

READINGS = (
    StructType()
    .add("machine_id", "string", nullable=False)
    .add("value", "long", nullable=False)
    .add("read_ts", "long", nullable=False)
)
"""One reading. `read_ts` increases with each reading of a machine."""

LIMITS = StructType().add("raise_above", "long").add("clear_below", "long")
"""
The value of a record in `machine-limits`. The key of the record is the machine.

A value between the two limits changes nothing, so a value that varies around one limit causes only one incident.
Readings of a machine without readable limits are rejected as `no_limits`.
"""

INCIDENTS = StructType([*READINGS]).add("incident_id", "string").add("status", "string")
"""The reading that raised or cleared an incident. `status` is `raised` or `cleared`."""

TTL_MS = 7 * 24 * 3_600_000
"""Time without a new reading after which a machine's state is removed."""

STATE = StructType().add("read_ts", "long").add("raised_ts", "long")
"""The time of a machine's last reading, and the time of the reading that raised the open incident, or null."""


class Incidents(StatefulProcessor):
    """
    Emits rejected rows, and each reading that raises or clears an incident.

    Spark passes nested structs as dictionaries.
    """

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state."""
        self._machine = handle.getValueState("machine", STATE, TTL_MS)

    def handleInputRows(  # noqa: D102, N802
        self,
        key: Any,  # noqa: ARG002
        rows: Iterator[Row],
        timerValues: TimerValues,  # noqa: ARG002, N803
    ) -> Iterator[Row]:
        for row in rows:
            change = None if row.reason else self._change(row.record, row.limits)
            if row.reason or change:
                yield Row(key=row.key, value=row.value, src=row.src, reason=row.reason, incident=change)

    def _change(self, reading: Mapping[str, Any], limits: Mapping[str, Any]) -> Row | None:
        machine: Any = self._machine.get() if self._machine.exists() else (-1, None)
        read_ts, raised_ts = machine
        if reading["read_ts"] <= read_ts:
            return None  # a repeat, or a reading that arrived after a newer one
        is_raised = raised_ts is None and reading["value"] > limits["raise_above"]
        is_cleared = raised_ts is not None and reading["value"] < limits["clear_below"]
        since = reading["read_ts"] if is_raised else raised_ts
        self._machine.update((reading["read_ts"], None if is_cleared else since))
        if not is_raised and not is_cleared:
            return None
        values = [reading[name] for name in READINGS.names]
        return Row(*INCIDENTS.names)(*values, f"{values[0]}/{since}", "raised" if is_raised else "cleared")

    def close(self) -> None:
        """Do nothing."""


def readings_to_incidents(readings: DataFrame, limits: DataFrame) -> DataFrame:
    """Convert Kafka source rows of readings and limits to Kafka sink rows of incidents and rejected records."""
    # If the job accepted a future time, all later readings of the machine would look like repeats.
    checks = {"future": F.col("record.read_ts") > F.unix_millis("timestamp") + SKEW_MS}
    table = F.broadcast(newest(limits, LIMITS, "limits"))
    decoded = decode(readings, READINGS, checks, ids=["machine_id"])
    known = decoded.join(table, F.col("record.machine_id") == F.col("limits_key"), "left")
    has_limits = F.col("limits.raise_above").isNotNull() & F.col("limits.clear_below").isNotNull()
    no_limits = F.when(~F.coalesce(has_limits, F.lit(False)), F.lit("no_limits"))
    rows = known.withColumn("reason", F.coalesce("reason", no_limits)).select(
        # A rejected row does not use state, so its key can have any value.
        group_of(F.col("record.machine_id")).alias("machine"),
        *("key", "value", "src", "reason", "record", "limits"),
    )
    schema = StructType([*rows.select("key", "value", "src", "reason").schema]).add("incident", INCIDENTS)
    return route(
        transform_with_state(rows, ["machine"], Incidents(), schema),
        "readings-rejected",
        key=F.concat_ws("/", "incident.incident_id", "incident.status"),
        value=F.to_json("incident"),
        topic=F.lit("readings-incidents"),
    )


JOB = Job(
    readings_to_incidents,
    "Raise an alert each time a machine exceeds its limit: readings + machine-limits -> readings-incidents.",
    reads=("readings", "machine-limits"),
    writes=("readings-incidents", "readings-rejected"),
)
