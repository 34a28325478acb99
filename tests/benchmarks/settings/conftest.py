"""The function that draws the chart; only a worker process with a test that needs it loads Matplotlib."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

DrawChanges = Callable[[Mapping[str, Any], Path, str], list[Path]]


@pytest.fixture
def draw_changes() -> DrawChanges:
    from benchmarks.settings import chart

    return chart.draw
