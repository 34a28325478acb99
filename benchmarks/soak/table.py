"""Render the published run of `make soak`."""

from pathlib import Path

from benchmarks.results.format import Block, measured, table

SOAK = "references/measured/soak.json"
STEADY = "steady"
ALWAYS = ("memory in", "latency")
"""The first words in the titles of rows that the table always contains."""
HEADER = ("resource", "of", "level", "peak", "change per hour", "trend")


def soak(root: Path, _: str) -> str:
    """Return the conditions of the run, and a table with memory, latency and every resource that is not steady."""
    content = measured(root, SOAK, "make soak PUBLISH=1")
    known = content["conditions"]
    foreign = content["foreign_cores"]
    conditions = (
        f"Measured with `{known['command']}` on {known['date']}: {known['cores']} cores, Java {known['java']}, "
        f"PySpark {known['pyspark']}, Kafka connector {known['kafka_connector']}, "
        f"broker {known['kafka_broker_and_clients']}.\n"
        f"Load: {known['duration_seconds'] / 3600:.1f} hours at {known['rate']:g} records/s, "
        f"{known['hot_campaign_share']:.0%} of the requests for one campaign, a commit every "
        f"{known['interval_seconds']:g} s; {content['records']:,} records, {content['differences']} differences from "
        f"the replay.\nOther programs used {min(foreign):.1f} to {max(foreign):.1f} cores.\n"
    )
    rows = [
        (
            row["title"],
            row["part"].removesuffix("_ms"),
            _number(row["level"]),
            _number(max(row["minutes"])),
            f"{'+' if row['per_hour'] > 0 else ''}{_number(row['per_hour'])}",
            f"{row['trend']}: {row['cause']}" if row["trend"] == "grows as expected" else row["trend"],
        )
        for row in content["growth"]
        if row["trend"] != STEADY or row["title"].startswith(ALWAYS)
    ]
    steady = sum(row["trend"] == STEADY for row in content["growth"])
    note = f"{steady} of {len(content['growth'])} resources are steady; the table omits most of them."
    return f"{conditions}{note}\n\n{table(HEADER, rows)}"


def _number(value: float) -> str:
    # The sum turns -0.0 into 0.0.
    return f"{value:,.0f}" if abs(value) >= 10 else f"{round(value, 1) + 0.0:.1f}"


BLOCKS: dict[str, Block] = {"measured-soak": soak}
