"""Check that the Maven coordinates in pages and code have versions that this repository downloads."""

import re
from collections.abc import Iterator
from pathlib import Path

from scripts.pack import files
from spark_rtm.services.packages import IVY_DIR, pinned
from spark_rtm.text.finding import Finding

_SPARK = re.compile(r"org\.apache\.(?:spark|kafka):(?P<name>[\w.-]+):(?P<version>[\d.]*\d)")


def check_coordinates(root: Path) -> Iterator[Finding]:
    """Yield a finding for each Spark or Kafka package that is not pinned, or that is newer than the pinned version."""
    pins = {name: text for path in IVY_DIR.glob("*.xml") for name, text in pinned(path).items()}
    scripts = (path for path in files.files_below(root / "databricks") if path.suffix in {".py", ".yml"})
    for path in [*files.linked_pages(root), *files.modules(root), *scripts]:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            for match in _SPARK.finditer(line):
                pin = pins.get(match["name"], "")
                if _numbers(match["version"]) > _numbers(pin.rpartition(":")[2]):
                    problem = f"{match[0]} may not exist: this repository pins {pin or 'no version of it'}"
                    yield Finding(files.relative(root, path), number, "coordinates", problem, "use the pinned version")


def _numbers(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version)]
