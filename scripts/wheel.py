"""
Select the modules of the wheel and rename their packages: the build hook of hatchling, which `pyproject.toml` names.

The modules import each other as `examples.kafka` or `scripts.lint` in the checkout, and as `spark_rtm.kafka` or
`spark_rtm.lint` in the wheel. The renamed files exist only in a temporary folder while the wheel is built.
"""

import ast
import re
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE = "spark_rtm"
PARTS = (
    *(f"examples/{name}" for name in ("kafka", "measure", "realtime", "services", "sinks", "testing")),
    *(f"scripts/{name}" for name in ("checkpoint", "lint", "prove", "text")),
    *(f"scripts/{name}.py" for name in ("commands", "rtm", "slots", "pack/__init__", "pack/files")),
)
"""Folders and modules of the wheel. The first folder of each path becomes `spark_rtm`."""
GUARDS = {
    "kafka": ("kafka", ("confluent_kafka",)),
    "realtime": ("spark", ("pyspark",)),
    "services": ("testing", ("confluent_kafka", "psycopg")),
    "sinks": ("postgres", ("psycopg", "pyspark")),
}
"""The extra and the packages of each part of the library. Not `testing`, because pytest always loads its plugin."""
GUARD = """
from importlib.util import find_spec as _find_spec

for _name in {names!r}:
    if _find_spec(_name) is None:
        _problem = f"{package}.{part} needs the package {{_name!r}}, which is not installed; "
        _remedy = "install the wheel with its extra {extra!r}: pip install 'PATH_OF_THE_WHEEL[{extra}]'"
        raise ModuleNotFoundError(_problem + _remedy, name=_name)
"""
# `prove` finds the section of an error condition in these pages.
PAGES = "references/errors*.md"
NAMES = "|".join(sorted({part.removesuffix(".py").split("/")[1] for part in PARTS}))
IMPORTED = re.compile(rf"\b(?:examples|scripts)\.(?P<name>{NAMES})\b")
FROM_ROOT = re.compile(r"^\s*(?:from|import) (?:examples|scripts)\b", re.MULTILINE)


class WheelHook(BuildHookInterface[Any]):
    """Give hatchling the renamed files of `PARTS`."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - the interface of hatchling
        """Write the renamed files to a temporary folder, and add this folder to the wheel."""
        self._folder = tempfile.TemporaryDirectory(prefix="spark-rtm-wheel-")
        package = Path(self._folder.name, PACKAGE)
        write_package(Path(self.root), package)
        build_data["force_include"][str(package)] = PACKAGE

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        """Delete the temporary folder."""
        self._folder.cleanup()


def write_package(root: Path, package: Path) -> None:
    """Write the modules of the wheel to the folder `package`. Raise ValueError if an import would not work there."""
    package.mkdir(parents=True)
    (package / "__init__.py").write_text('"""Tools for Apache Spark real-time mode."""\n', encoding="utf-8")
    for source in sources(root):
        relative = source.relative_to(root)
        target = package.joinpath(*(relative.parts if relative.parts[0] == "references" else relative.parts[1:]))
        target.parent.mkdir(parents=True, exist_ok=True)
        text = source.read_text(encoding="utf-8")
        if relative.name == "__init__.py":
            text = guarded(text, relative.parent.name)
        target.write_text(renamed(text, relative) if source.suffix == ".py" else text, encoding="utf-8")


def sources(root: Path) -> list[Path]:
    """Return the files of the wheel in the checkout."""
    paths = [path for part in PARTS for path in ((root / part).rglob("*") if (root / part).is_dir() else [root / part])]
    hidden = ("__pycache__", ".DS_Store")
    return [*(p for p in paths if p.is_file() and not set(hidden) & set(p.parts)), *sorted(root.glob(PAGES))]


def guarded(text: str, part: str) -> str:
    """Return the text of an `__init__.py`, which after its docstring checks that the packages are installed."""
    if part not in GUARDS:
        return text
    extra, names = GUARDS[part]
    lines, end = text.splitlines(keepends=True), ast.parse(text).body[0].end_lineno
    return "".join([*lines[:end], GUARD.format(package=PACKAGE, part=part, extra=extra, names=names), *lines[end:]])


def renamed(text: str, path: Path) -> str:
    """Return the text of a module with the package names of the wheel."""
    text = IMPORTED.sub(rf"{PACKAGE}.\g<name>", text)
    if left := FROM_ROOT.search(text):
        raise ValueError(
            f"{path}: {left[0].strip()!r} imports a module that is not in the wheel; "
            f"add its folder to PARTS in scripts/wheel.py, or remove the import"
        )
    return text
