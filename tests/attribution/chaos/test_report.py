from pathlib import Path

from examples.attribution.chaos.outcome import Incident, Outcome
from examples.attribution.chaos.plan import Fault
from examples.attribution.chaos.report import write_page
from tests.attribution.demo.reports import report
from tests.attribution.demo.test_html_page import Texts, log_of


def test_page_has_each_fault_and_the_time_until_results_flowed(tmp_path: Path) -> None:
    """A fault is in the timeline and in a table; without a recovery, the page has a bad verdict."""
    incidents = [
        Incident(Fault("kill-broker", 0, 0, 3), begun_at=3.0, seconds=4.25, replayed=7),
        Incident(Fault("pause-database", 0, 0, 3), begun_at=12.0),
    ]
    outcome = Outcome(incidents, report("real-time", 4, []).reconciliation, log_of(4), sent=2, failed_sends=0)

    text = write_page(outcome, 5, {"cores": 2}, tmp_path / "chaos.html").read_text(encoding="utf-8")

    rows = Texts(text).rows
    assert ["kill-broker", "1 s", "4.2", "7"] in rows
    assert ["pause-database", "10 s", "-", "0"] in rows
    assert ">kill-broker: 4.2 s</text>" in text
    assert ">pause-database: no recovery</text>" in text
    assert '<p class="bad">0 differences' in text
    assert "seed 5" in text
