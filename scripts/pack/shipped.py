"""
List the files of an installed skill, which contains no tests, no benchmarks and no site.

The skill contains the examples that pages link to or show, and all modules that these examples import, so that each
copied module can run. The demonstration of the pipeline is available only in a checkout.
"""

from pathlib import Path

from scripts.pack import files
from scripts.pack.checks.links import PROGRAM, link_targets, with_imports
from spark_rtm.text import markdown

INSTALLER = ("assistants", "files", "install", "manifest")
"""The modules of `scripts/pack` that install the skill and check a copy."""
FIXED = (
    files.SKILL,
    "LICENSE",
    *(f"databricks/{name}" for name in ("databricks.yml", "real_time_job.py", "start_here.py")),
    "scripts/__init__.py",
    "scripts/skills.py",
    "scripts/pack/__init__.py",
    "scripts/pack/manifest.schema.json",
    *(f"scripts/pack/{name}.py" for name in INSTALLER),
)


OF_THE_WHEEL = (files.WHEEL, PROGRAM, "spark_rtm/py.typed")
"""Files that only the installed package needs. A copy of the skill has `scripts/skills.py` instead."""
TEMPLATE = "spark_rtm/commands/template/"
"""Files that `rtm init` writes. The command needs the metadata of a wheel, which a copy of the skill lacks."""
OF_THE_CHECKOUT = (
    *(f"spark_rtm/measure/{name}.py" for name in ("cpu", "machine", "palette")),
    *(f"spark_rtm/services/{name}.py" for name in ("cluster", "tcp_proxy")),
)
"""Modules that are imported only by benchmarks, tests and other modules that a copy does not contain."""
MACHINERY = (
    *(f"examples/{name}/" for name in ("attribution/audit", "attribution/demo", "attribution/traffic")),
    *(f"examples/{name}/__main__.py" for name in ("acknowledgements", "attribution/lake")),
)
"""Programs and their parts, which a copy contains only if other examples import them."""


def shipped_files(root: Path) -> list[Path]:
    """Return every file of an installed skill except the manifest."""
    fixed = [root / name for name in FIXED]
    left_out = {*OF_THE_WHEEL, *OF_THE_CHECKOUT}
    below = {path: files.relative(root, path) for path in files.files_below(root / "spark_rtm")}
    library = [path for path, name in below.items() if name not in left_out and not name.startswith(TEMPLATE)]
    return [*fixed, *files.references(root), *library, *_examples(root)]


def _examples(root: Path) -> list[Path]:
    """Return the examples that a page links to or shows, and all example modules that these examples import."""
    folder = root / "examples"
    pages = [page for page in files.pages(root) if page.name != "README.md"]
    fences = [fence for page in pages for fence in markdown.fences(page.read_text(encoding="utf-8"))]
    named = {root / fence.options.get("excerpt", "").partition(":")[0] for fence in fences}
    named |= {target for page in pages for target in link_targets(page)}
    starts = (path for path in named if path.is_relative_to(folder))
    found = with_imports(
        folder, (path for path in starts if not files.relative(root, path).startswith(MACHINERY)), root
    )
    packages = {path / "__init__.py" for one in found for path in one.parents if path.is_relative_to(folder)}
    return sorted(found | packages)
