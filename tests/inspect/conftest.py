"""A small checkpoint for the tests without Spark."""

from pathlib import Path

import pytest

from tests.inspect.files import write_checkpoint


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """Return a checkpoint with three committed batches in format 2."""
    return write_checkpoint(tmp_path / "checkpoint")
