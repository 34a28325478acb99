"""Print the reconciliation of a run and the table of its faults, and write a page with both."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

from examples.attribution.audit.latency import latencies_by_second
from examples.attribution.chaos.outcome import Incident, Outcome
from examples.attribution.demo import html_page
from examples.attribution.demo.report import print_reconciliation, report_console, verdict
from spark_rtm.measure import page

PAGE = Path("build/chaos.html")
COLUMNS = ("fault", "times", "median s", "max s", "replayed")
LEGEND = (
    "Seconds from the beginning of a fault until every source partition had a result in the database for a record "
    "that was sent after the fault and after the last restart that the fault caused. Replayed: records that were "
    "written again."
)


def print_outcome(outcome: Outcome, seed: int, console: Console | None = None) -> None:
    """Print the counts, the differences, a row for each kind of fault, and a summary."""
    console = console or report_console()
    console.print()
    print_reconciliation(console, outcome.reconciliation, outcome.log)
    console.print(verdict(outcome.reconciliation, outcome.log))
    table = Table(*COLUMNS, box=None)
    for kind in sorted({incident.fault.kind for incident in outcome.incidents}):
        table.add_row(kind, *_cells([incident for incident in outcome.incidents if incident.fault.kind == kind]))
    console.print()
    console.print(table)
    console.print(LEGEND, highlight=False, soft_wrap=True)
    interrupted = ", ended by Ctrl-C" if outcome.is_interrupted else ""
    summary = (
        f"seed {seed}: {len(outcome.incidents)} faults{interrupted}, {outcome.unhealed} without recovery, "
        f"{outcome.sent} records sent, {outcome.failed_sends} not accepted by the broker, "
        f"{outcome.lost} lost, {outcome.wrong} wrong"
    )
    console.print(summary, style="bold red" if outcome.status else "bold green", highlight=False, soft_wrap=True)


def write_page(outcome: Outcome, seed: int, machine: Mapping[str, object], path: Path = PAGE) -> Path:
    """Write a page with the latencies, the faults and the time until each recovery, and return its path."""
    log = outcome.log
    began_at = html_page.started_at(log)
    faults = [html_page.Fault(i.fault.kind, i.begun_at - began_at, i.seconds) for i in outcome.incidents]
    series = html_page.Series("real-time", latencies_by_second(log, began_at))
    rows = [
        (fault.kind, f"{fault.at:.0f} s", _seconds(fault.seconds), incident.replayed)
        for fault, incident in zip(faults, outcome.incidents, strict=True)
    ]
    verdicts = [(verdict(outcome.reconciliation, log).plain, not outcome.status)]
    header = ("fault", "began at", "s until results flowed", "replayed")
    tables = [page.Table("Faults", header, rows)]
    tables.append(html_page.differences_of({"chaos": outcome.reconciliation.differences}))
    figure = html_page.timeline([series], faults)
    title = f"Ad attribution under faults, seed {seed}"
    return page.write(path, title, verdicts, figure, [*tables, page.machine_of(machine)])


def _cells(incidents: Sequence[Incident]) -> tuple[str, ...]:
    seconds = [incident.seconds for incident in incidents if incident.seconds is not None]
    slowest = _seconds(max(seconds)) if len(seconds) == len(incidents) else "no recovery"
    replayed = sum(incident.replayed for incident in incidents)
    return str(len(incidents)), _seconds(median(seconds) if seconds else None), slowest, str(replayed)


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"
