"""
Print what a version of PySpark has for streaming that another lacks: conditions, settings, and the allow list.

The versions are installed into the user's cache and never started: names of settings and classes are the texts in the
class files. The outcome of each feature is in the tests of this repository, which run on the installed version.
"""

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from zipfile import ZipFile

import pyspark

from spark_rtm.services.cache import cached_folder

CONDITIONS_FILE = "error/error-conditions.json"
CONDITIONS = re.compile(r"STREAM|STATE_STORE|STATEFUL|KAFKA|REAL_TIME|CHECKPOINT|WATERMARK")
# Part of the name of a class file, and the texts in it that matter. The check of operators names some classes as texts,
# and refers to others.
TEXTS = {
    "settings": ("sql/internal/SQLConf", re.compile(rb"spark\.sql\.streaming\.[\w.]+")),
    "allow list": ("/RealTimeModeAllowlist", re.compile(rb"org\.apache\.spark\.[\w.$]+|org/apache/spark/[\w/]+Exec\b")),
}
Parts = dict[str, list[str]]


def main(arguments: list[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m scripts.radar", description=__doc__)
    parser.add_argument("version", help="version of PySpark, such as 4.2.0")
    parser.add_argument(
        "--base", default=pyspark.__version__, metavar="VERSION", help="compare with this one (default: %(default)s)"
    )
    options = parser.parse_args(arguments)
    older, newer = (streaming_parts(jars_of(version)) for version in (options.base, options.version))
    print("\n".join(differences(older, newer)))
    return 0


def jars_of(version: str) -> list[Path]:
    """Return Spark's jars in a version of PySpark, which is installed into the cache unless it is the current one."""

    def fill(folder: Path) -> None:
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder)]
        subprocess.run([*pip, f"pyspark=={version}"], check=True)

    if version == pyspark.__version__:
        return sorted(Path(pyspark.__file__).parent.glob("jars/spark-*.jar"))
    return sorted(cached_folder(f"radar/pyspark-{version}", fill).glob("pyspark/jars/spark-*.jar"))


def streaming_parts(jars: Iterable[Path]) -> Parts:
    """Return the error conditions about streaming, the streaming settings, and the classes of the allow list."""
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
    """Yield a line for each name that was added or removed."""
    for part, names in newer.items():
        yield from (f"{part}: + {name}" for name in names if name not in older[part])
        yield from (f"{part}: - {name}" for name in older[part] if name not in names)


if __name__ == "__main__":
    sys.exit(main())
