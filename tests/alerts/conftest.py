from collections.abc import Iterator
from pathlib import Path

import pytest

from examples.alerts.job import Options
from tests.alerts.helpers import new_options


@pytest.fixture
def options(kafka: str, tmp_path: Path) -> Iterator[Options]:
    with new_options(kafka, tmp_path) as run_options:
        yield run_options


@pytest.fixture(scope="module")
def shared_options(kafka: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Options]:
    with new_options(kafka, tmp_path_factory.mktemp("shared")) as run_options:
        yield run_options
