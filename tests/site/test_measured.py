import json
from pathlib import Path

from scripts.site import measured

SVG = '<svg viewBox="0 0 504 230"></svg>'


def test_charts_of_one_measurement_share_a_section(tmp_path: Path) -> None:
    """A measurement has one or several charts, or no chart; the longest name counts."""
    folder = tmp_path / "references/measured"
    folder.mkdir(parents=True)
    for name in ("gro", "growth", "growth_limits", "prove"):
        (folder / f"{name}.json").write_text(json.dumps({"conditions": {"date": name}, "runs": [{"rate": 1}]}))
    charts = ("gro.svg", "growth_limits_stateful.svg", "growth_rate.svg", "growth_state.svg")
    for chart in charts:
        (folder / chart).write_text(SVG)

    _, *sections = measured.page(tmp_path).split("\n## ")

    assert ["Gro", "Growth", "Growth limits"] == [section.splitlines()[0] for section in sections]
    assert [["gro.svg"], ["growth_rate.svg", "growth_state.svg"], ["growth_limits_stateful.svg"]] == [
        [chart for chart in charts if f'src="{chart}"' in section] for section in sections
    ]
    assert [1, 1, 1] == [section.count("1 rows") for section in sections]
