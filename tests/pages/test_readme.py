import json
import re
from xml.etree import ElementTree

import pytest

from scripts.pack import files
from spark_rtm.text import markdown

README = (files.ROOT / "README.md").read_text(encoding="utf-8")
PICTURES = re.findall(r"^!\[[^\]]+\]\((\S+)\)$", README, re.MULTILINE)
MAX_WORDS = 600
MAX_PICTURE_BYTES = 100_000


def test_readme_is_short_and_has_one_table_and_its_picture() -> None:
    assert len(re.sub(r"<!--.*?-->|\]\([^)]*\)", "", README).split()) <= MAX_WORDS
    assert 1 == len(markdown.tables(README))
    assert [] == [link.text for link in markdown.links(README) if re.search(r"_|\.md", link.text)]
    assert PICTURES


@pytest.mark.parametrize("name", PICTURES)
def test_picture_of_the_readme_is_small_and_loads_nothing(name: str) -> None:
    text = (files.ROOT / name).read_text(encoding="utf-8")
    root = ElementTree.fromstring(text)

    assert {"width", "height", "viewBox"} <= {*root.keys()}
    assert len(text.encode()) <= MAX_PICTURE_BYTES
    assert [] == re.findall(r"<script|<image|<foreignObject|href=|url\(|@import", text)
    assert ["http://www.w3.org/2000/svg"] == re.findall(r"https?://[^\"]+", text)


def test_chart_of_the_readme_shows_the_published_numbers() -> None:
    """The bars have the lengths of the measured percentiles: the longest is the 99% of micro-batch mode with state."""
    cases = json.loads((files.ROOT / "references/measured/latency.json").read_text(encoding="utf-8"))["cases"]
    known = {(case["workload"], case["engine"]): case for case in cases}
    root = ElementTree.parse(files.ROOT / "references/measured/latency_overview.svg")
    widths = [float(bar.attrib["width"]) for bar in root.iter("{http://www.w3.org/2000/svg}rect")][1:]

    scale = widths[-2] / known["stateful", "micro-batch"]["p99_ms"]
    rows = [known[work, mode] for work in ("stateless", "stateful") for mode in ("real-time", "micro-batch")]
    assert [max(row[name] * scale, 1) for row in rows for name in ("p99_ms", "p50_ms")] == pytest.approx(
        widths, abs=0.1
    )
