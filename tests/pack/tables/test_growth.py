"""The blocks of the page about growth show the published runs."""

import shutil
from pathlib import Path

import pytest

from benchmarks.growth.charts import draw
from scripts.pack import blocks, files, generate
from scripts.pack.tables.growth import LIMITS, MEASURED, conditions, million, model, points, reached_at
from spark_rtm.capacity import Demand, capacity
from tests.benchmarks.growth.synthetic import content, rows
from tests.pack.tables.published import publish

PAGE = "references/growth.md"


@pytest.fixture
def published(tmp_path: Path) -> Path:
    """Return a folder with runs that the functions of the benchmark have written."""
    publish(tmp_path, MEASURED, content())
    return tmp_path


@pytest.mark.parametrize("maker", [points, conditions, model, million])
def test_missing_runs_are_named_with_their_command(tmp_path: Path, maker: blocks.Maker) -> None:
    """Without the JSON, the error names the file and the command that creates it."""
    with pytest.raises(ValueError, match=r"growth\.json does not exist; create it with `make bench-growth PUBLISH=1`"):
        maker(tmp_path, "rate")


def test_page_has_the_tables_and_charts_of_the_runs(published: Path) -> None:
    """After publishing, each block of the page has a table, and each chart is shown once."""
    page = published / PAGE
    shutil.copy(files.ROOT / PAGE, page)
    draw(content(), page.parent / "measured")

    text = generate.render_page(published, page)

    parts = text.split("<!-- generated: ")[1:]
    assert {name for name in blocks.BLOCKS if "growth" in name} == {part.split()[0] for part in parts}
    assert all(part.partition(" -->\n")[2].partition("<!-- end -->")[0].strip() for part in parts)
    charts = [path.name for path in (published / "references/measured").glob("growth_*.svg")]
    assert len(charts) >= 6
    assert [1] * len(charts) == [text.count(f"(measured/{name})") for name in charts]
    page.write_text(text)
    assert text == generate.render_page(published, page)


def test_rows_show_the_numbers_of_the_runs(published: Path) -> None:
    """The base is the first row; a run that fell behind is marked."""
    fell_behind = content()
    next(row for row in fell_behind["runs"] if row["rate"] == 4_000)["kept_up"] = False
    publish(published, MEASURED, fell_behind)

    lines = points(published, "rate").splitlines()

    base = rows()[0]
    assert lines[2].startswith(f"| base | {1e3 * base['busy_cores']:,.0f} | {base['busy_cores']:.2f} |")
    assert lines[7].startswith("| rate = 4,000 (fell behind) |")
    assert "Base: 1,000 records/s, 2 partitions, 1,000 keys" in conditions(published, "")
    first, last = (f"{row['busy_cores']:.2f}" for row in rows() if row["dimension"] == "base")
    assert f"The equal first and last run used {first} and {last} busy cores" in conditions(published, "")
    assert "`queries * rate`" in model(published, "")


def test_state_that_was_not_filled_completely_is_mentioned(published: Path) -> None:
    """The reader learns which state was smaller than planned."""
    short = content()
    next(row for row in short["runs"] if row["state_keys"] == 10_000_000)["state_rows"] = 6_500_000
    publish(published, MEASURED, short)

    assert "was over after 6,500,000 of 10,000,000 keys." in conditions(published, "")


def test_million_records_are_computed_from_the_model(published: Path) -> None:
    """The row of a million records is the capacity of the base at this rate, and is outside of the range."""
    text = million(published, "")

    needed = capacity(content(), Demand(1_000_000, interval_seconds=7))
    assert f"| 1,000,000 | {needed.partitions:,} | {needed.slots:,} | {needed.busy_cores:,.1f} |" in text
    assert 500 == needed.partitions
    assert ["yes", "no"] == [line.split(" | ")[-1].strip(" |") for line in text.splitlines() if "1,000" in line[:9]]


def test_first_limit_is_the_one_with_the_lowest_rate(published: Path) -> None:
    """One partition is measured up to 2,000 records/s; the limits follow in the order of their rates."""
    reached = [reached_at(content(), Demand(1_000, interval_seconds=7), limit) for limit in LIMITS]

    assert reached[0] == pytest.approx(2_000, rel=0.01)
    for rate, limit in zip(reached[1:], LIMITS[1:], strict=True):
        assert rate is not None
        below, above = (Demand(rate * factor, interval_seconds=7) for factor in (0.98, 1.0))
        states = [limit.is_reached(capacity(content(), demand), demand) for demand in (below, above)]
        assert [False, True] == states
    text = million(published, "")
    assert f"The limit that comes first: at 2,000 records/s, {LIMITS[0].name}." in text
