"""The function that draws charts; only a worker process with a test that needs it loads Matplotlib."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

Draw = Callable[[Mapping[str, Any], Path, str], list[Path]]
DrawPrices = Callable[[Sequence[Mapping[str, Any]], Path], list[Path]]


@pytest.fixture
def draw() -> Draw:
    """Return the function that writes the charts of a benchmark into a folder."""
    from benchmarks.results import charts

    return charts.draw


@pytest.fixture
def draw_prices() -> DrawPrices:
    """Return the function that writes the chart of prices to a file."""
    from benchmarks.results import price_chart

    return price_chart.draw
