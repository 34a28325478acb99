"""
Run the feature tables with another PySpark version, record the outcomes, and compare them with the installed version.

The tested version is installed into the user's cache, and uses the remaining packages of this environment. The table
rows come from the tests of these tables. The error conditions, streaming settings and allow list are read from Spark's
jars. `scripts/skills.py generate` fills the columns `since` from the recorded outcomes.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from zipfile import ZipFile

import pyspark

from scripts.pack import files
from scripts.pack.tables.versions import DATA, ordered, recorded
from spark_rtm.services.folders import cached_folder

CONDITIONS_FILE = "error/error-conditions.json"
CONDITIONS = re.compile(r"STREAM|STATE_STORE|STATEFUL|KAFKA|REAL_TIME|CHECKPOINT|WATERMARK")
# Part of a class file's name, and the class file's relevant strings. The operator check contains some class names as
# strings, and refers to other classes.
TEXTS = {
    "settings": ("sql/internal/SQLConf", re.compile(rb"spark\.sql\.streaming\.[\w.]+")),
    "allow list": ("/RealTimeModeAllowlist", re.compile(rb"org\.apache\.spark\.[\w.$]+|org/apache/spark/[\w/]+Exec\b")),
}
MAX_SECONDS = 3600
Parts = dict[str, list[str]]


def main(version: str) -> None:
    """Record the outcomes of one version, and print the differences from the installed version."""
    rows = {**recorded(files.ROOT), version: _outcomes(version)}
    text = json.dumps({name: rows[name] for name in ordered(rows)}, indent=1, ensure_ascii=False)
    (files.ROOT / DATA).write_text(f"{text}\n", encoding="utf-8")
    older, newer = (
        {**streaming_parts(jars_of(name)), "rows": [f"{row}: {cell}" for row, cell in rows.get(name, {}).items()]}
        for name in (pyspark.__version__, version)
    )
    print("\n".join(differences(older, newer)))


def _outcomes(version: str) -> dict[str, str]:
    with tempfile.TemporaryDirectory(prefix="radar-") as folder:
        file = Path(folder) / "outcomes.json"
        command = [str(_environment(version)), "-m", "tests.pages.other_version", version, str(file)]
        # Python workers need the path to the modules of the repository.
        environ = {**os.environ, "PYTHONPATH": str(files.ROOT)}
        subprocess.run(command, check=True, env=environ, cwd=files.ROOT, timeout=MAX_SECONDS)
        return dict(json.loads(file.read_text(encoding="utf-8")))


def _environment(version: str) -> Path:
    """Return the Python executable of an environment with this PySpark version: this environment or a cached one."""

    def fill(folder: Path) -> None:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
        pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin/python"), "install", "--quiet", "--no-deps"]
        subprocess.run([*pip, f"pyspark=={version}"], check=True)
        own = Path(sysconfig.get_path("purelib", vars={"base": str(folder)}))
        # Python searches the paths in this file last, so the installed PySpark precedes this environment's.
        (own / "shared.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")

    if version == pyspark.__version__:
        return Path(sys.executable)
    return cached_folder(f"radar/{version}", fill) / "bin" / "python"


def jars_of(version: str) -> list[Path]:
    """Return the paths of Spark's own jars in a PySpark version."""
    return sorted(_environment(version).parents[1].glob("lib/python*/site-packages/pyspark/jars/spark-*.jar"))


def streaming_parts(jars: Iterable[Path]) -> Parts:
    """Return the error conditions about streaming, the streaming settings, and the classes in the allow list."""
    found = {name: set[str]() for name in ("conditions", *TEXTS)}
    for jar in jars:
        with ZipFile(jar) as archive:
            for name in archive.namelist():
                if name == CONDITIONS_FILE:
                    known = json.loads(archive.read(name))
                    parts = (f"{family}.{part}" for family in known for part in known[family].get("subClass", ()))
                    found["conditions"] |= {text for text in (*known, *parts) if CONDITIONS.search(text)}
                for part, (place, texts) in TEXTS.items():
                    if place in name and name.endswith(".class"):
                        matches = texts.findall(archive.read(name))
                        # Classes move between packages.
                        found[part] |= {re.sub(r"^org[./].*[./]", "", text.decode()) for text in matches}
    return {name: sorted(texts) for name, texts in found.items()}


def differences(older: Parts, newer: Parts) -> Iterator[str]:
    """Yield a line for each name that only one of the two versions contains."""
    for part, names in newer.items():
        yield from (f"{part}: + {name}" for name in names if name not in older[part])
        yield from (f"{part}: - {name}" for name in older[part] if name not in names)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m scripts.radar", description=__doc__)
    parser.add_argument("version", help="PySpark version, such as 4.2.0")
    main(parser.parse_args().version)
