"""Render the result of the published run of `make soak PUBLISH=1` as a table."""

from pathlib import Path

from scripts.pack.tables.format import measured, table

SOAK = "references/measured/soak.json"
COMMAND = "make soak PUBLISH=1"


def soak(root: Path, _: str) -> str:
    """Return the conditions of the run, and a table with the growth of each resource."""
    content = measured(root, SOAK, COMMAND)
    known = content["conditions"]
    busiest = max(content["foreign_cores"], default=0)
    conditions = (
        f"Measured with `{known['command']}` on {known['date']}: {known['cores']} cores, Java {known['java']}, "
        f"PySpark {known['pyspark']}, Kafka connector {known['kafka_connector']}, "
        f"broker {known['kafka_broker_and_clients']}.\n"
        f"Load: {known['duration_seconds'] / 3600:.1f} hours at {known['rate']:g} records/s, "
        f"{known['hot_campaign_share']:.0%} of the requests for one campaign, a commit every "
        f"{known['interval_seconds']:g} s; {content['records']:,} records, {content['differences']} differences from "
        f"the replay.\nOther programs used up to {busiest:.1f} cores.\n"
    )
    rows = [
        (
            row["title"],
            row["part"].removesuffix("_ms"),
            _number(row["level"]),
            f"{'+' if row['per_hour'] > 0 else ''}{_number(row['per_hour'])}",
            f"{row['trend']}: {row['cause']}" if row["trend"] == "grows as expected" else row["trend"],
        )
        for row in content["growth"]
    ]
    return f"{conditions}\n{table(('resource', 'of', 'level', 'change per hour', 'trend'), rows)}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 10 else f"{value:.1f}"
