import re

from examples.attribution.correlation.rule import correlate
from scripts.pack import files
from spark_rtm.text import markdown
from tests.attribution.correlation.histories import LIMITED, WINDOWS, T, drawn, histories

PAGE = files.ROOT / "references/attribution.md"


def test_page_names_exactly_the_codes_of_the_rule() -> None:
    [table] = [table for table in markdown.tables(PAGE.read_text()) if table.header[0] == "code"]
    named = {code for _, cells in table.rows for code in re.findall(r"`([a-z_]+)`", cells[0])}

    runs = [(windows, now) for windows in (WINDOWS, LIMITED) for now in (None, 10 * T)]
    random_histories = drawn(histories(), 1_000)
    results = (result for events in random_histories for run in runs for result in correlate(events, *run))

    assert named == {result.code for result in results}
