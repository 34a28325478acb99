from pathlib import Path

import pytest

from tests.inspect.files import write_checkpoint


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    return write_checkpoint(tmp_path / "checkpoint")
