"""Render the JSON of `make bench-checkpoint-storage` as a Markdown table."""

from pathlib import Path

from benchmarks.results.format import Block, conditions, published, table

COMMAND = "bench-checkpoint-storage"


def pauses(root: Path, _: str) -> str:
    """Return the conditions, and a table of the pauses by storage and file manager."""
    content = published(root, "checkpoint_storage", COMMAND)
    known = content["conditions"]
    clients = f"Kafka connector {known['kafka_connector']}, a standalone cluster of {known['workers']} workers"
    unit = f"The pause is the time by which a batch of `{known['query']}` exceeds the trigger interval."
    rows = [
        (
            case["storage"],
            f"`{case['manager']}`",
            str(case["boundaries"]),
            f"{case['pause_median_ms']:,} / {case['pause_max_ms']:,}",
            f"{case['differences']} of {case['results']:,}",
        )
        for case in content["cases"]
    ]
    header = ("checkpoints", "file manager", "boundaries", "pause in ms, median / max", "wrong results")
    return f"{conditions(content, COMMAND, unit, clients)}\n{table(header, rows)}"


BLOCKS: dict[str, Block] = {"measured-checkpoint-storage": pauses}
