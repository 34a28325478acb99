"""Render the JSON of `make bench-boundary` as a Markdown table."""

from pathlib import Path

from benchmarks.results.format import Block, conditions, published, table

COMMAND = "bench-boundary"

GROUPS = {
    "append the record": ["append the record"],
    "end the old tasks, commit state": ["stop reading", "end the tasks, commit state"],
    "end the job, write commit log": ["end the job", "write commit log"],
    "report progress, read offsets": ["report progress, read offsets"],
    "plan the query": ["plan the query"],
    "prepare and submit the job": ["prepare the job", "submit the job"],
    "start the tasks, first fetch": ["start source tasks", "first fetch", "launch state tasks", "start state tasks"],
    "load state, connect the shuffle": ["load state", "connect the shuffle"],
    "first result, queue": ["first result", "drain the queue"],
    "unexplained": ["unexplained"],
}
"""Columns of the table, each the sum of some phases. The chart shows each phase."""


def phases(root: Path, _: str) -> str:
    """Return the conditions, a table of boundary phases per case, and the chart."""
    content = published(root, "boundary", COMMAND)
    rows = [
        (
            *(case["engine"], str(case["boundaries"]), f"{case['wait_mean_ms']:,.0f} / {case['wait_max_ms']:,.0f}"),
            *(f"{sum(case['mean_ms'][name] for name in names):.0f}" for names in GROUPS.values()),
        )
        for case in content["cases"]
    ]
    header = ("settings", "boundaries", "longest wait: mean / max", *GROUPS)
    unit = (
        "Times are in ms. The phases are means, and add up to the mean wait of the slowest record; "
        "if phases overlap, the time counts for the column further left."
    )
    for case in content["cases"]:
        if case["changed"]:
            settings = ", ".join(f"`{name}` = {value}" for name, value in case["changed"].items())
            unit += (
                f" The row *{case['engine']}* is an experiment that changes {settings}; measure it before you use it."
            )
    text = conditions(content, COMMAND, unit)
    return f"{text}\n{table(header, rows)}\n![Timeline of one batch boundary](measured/boundary.svg)\n"


BLOCKS: dict[str, Block] = {"measured-boundary": phases}
