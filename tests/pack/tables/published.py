"""Write the JSON of a measurement as a benchmark publishes it."""

import json
from pathlib import Path
from typing import Any


def publish(root: Path, name: str, content: Any) -> None:
    """Write `content` to the published file `name` below `root`, and create its folder."""
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))
