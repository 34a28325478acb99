"""The function that draws charts; only a worker process with a test that needs it loads Matplotlib."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

Draw = Callable[[Mapping[str, Any], Path, str], list[Path]]


@pytest.fixture
def draw() -> Draw:
    from benchmarks.results import charts

    return charts.draw
