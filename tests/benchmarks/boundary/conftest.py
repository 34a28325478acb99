"""The function that draws the timeline; only a worker process with a test that needs it loads Matplotlib."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

DrawTimeline = Callable[[Sequence[Mapping[str, Any]], Path], list[Path]]


@pytest.fixture
def draw_timeline() -> DrawTimeline:
    from benchmarks.boundary import chart

    return chart.draw
