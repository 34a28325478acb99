from pathlib import Path

from benchmarks.growth.charts import CHARTS, draw, message, rows_of_chart
from tests.benchmarks.growth.synthetic import content, rows


def test_chart_labels_its_lines_and_states_its_message(tmp_path: Path) -> None:
    second = tmp_path / "second"
    second.mkdir()
    paths = draw(content(), tmp_path)
    again = draw(content(), second)

    assert len(CHARTS) == len(paths)
    for chart, path, copy in zip(CHARTS, paths, again, strict=True):
        text = path.read_text()
        assert "measured" in text
        assert message(chart, rows_of_chart(rows(), chart)) in text
        assert ("p99" not in chart.quantity) == ("cost model" in text)
        assert copy.read_bytes() == path.read_bytes()


def test_message_contains_the_lowest_and_the_highest_input() -> None:
    """The change from the first to the last point of a chart is its message, unless equal runs differ as much."""
    found = rows_of_chart(rows(), CHARTS[0])

    assert [100, 300, 1_000, 1_000, 2_000, 4_000] == [row["rate"] for row in found]
    assert "From 100 to 4,000 records/s: 85% less CPU s per million records (1,590 to 236)" == message(CHARTS[0], found)
    near = [found[0], {**found[-1], "cpu_seconds_per_million": 1.1 * found[0]["cpu_seconds_per_million"]}]
    assert "about equal CPU s per million records" in message(CHARTS[0], near)


def test_part_of_the_plan_has_only_its_charts_without_a_model(tmp_path: Path) -> None:
    part = {"runs": [row for row in rows() if row["dimension"] in ("base", "rate")]}

    paths = draw(part, tmp_path)

    assert ["growth_rate_cpu_seconds_per_million.svg", "growth_rate_p99_ms.svg"] == [path.name for path in paths]
    assert all("cost model" not in path.read_text() for path in paths)
