"""Render the generated parts of pages, such as the list of pages, the lint rules and the benchmark tables."""

from collections.abc import Callable
from pathlib import Path

from benchmarks import registry
from benchmarks.results.format import table
from scripts.pack import assistants, files, notices
from scripts.pack.checks.links import navigation
from scripts.pack.tables import demo, folders, prove, verified
from spark_rtm.cli import COMMANDS
from spark_rtm.lint.engine import RULES
from spark_rtm.lint.rules.rule import LABELS

Maker = Callable[[Path, str], str]
ERRORS = "errors_"


def router(root: Path, _: str) -> str:
    """
    Return a list of links to all references, each with its `Read when` line, in the order of the site's navigation.

    All error pages share the entry of `errors.md`, which links each error to the section that explains it.
    """
    order = navigation(root)
    lines: dict[str, str] = {}
    parts = []
    # A page that is missing from the navigation comes last; `make site` reports it.
    names = {files.relative(root, path): path for path in files.references(root)}
    for name in sorted(names, key=lambda name: [*order, name].index(name)):
        path, text = names[name], names[name].read_text(encoding="utf-8")
        if path.stem.startswith(ERRORS):
            parts.append(f"[{files.title(text).removeprefix('Errors ').removesuffix(' errors')}]({name})")
        else:
            lines[path.stem] = f"- [{files.title(text)}]({name}): {files.read_when(text) or ''}"
    lines[ERRORS.rstrip("_")] += f"; {', '.join(parts)}" if parts else ""
    return "".join(f"{line}\n" for line in lines.values())


def assistant_folders(_: Path, __: str) -> str:
    """Return a table of the assistants with their commands and skills folders."""
    header = ("assistant", "its own commands", "folders: personal, project", "source of the folders")
    return table(header, assistants.rows())


def commands_table(_: Path, __: str) -> str:
    """Return a table of the commands of `rtm`."""
    rows = [(f"`rtm {each.name}`", each.summary, f"`{each.extra}`" if each.extra else "-") for each in COMMANDS]
    return table(("command", "what it does", "extra"), rows)


def lint_index(_: Path, __: str) -> str:
    """Return a table of the lint rules by severity and engine. The site shows a table of their descriptions instead."""
    groups: dict[tuple[str, str], list[str]] = {}
    for rule in RULES:
        engine = "differs" if len(rule.cases) > 1 else LABELS[rule.engines].replace("Both engines", "both")
        groups.setdefault((rule.severity, engine), []).append(f"`{rule.id}`")
    return table(("severity", "engine", "rules"), [(*kind, ", ".join(names)) for kind, names in sorted(groups.items())])


BLOCKS: dict[str, Maker] = {
    **registry.BLOCKS,
    "measured-demo": demo.comparison,
    "folders": folders.folders,
    "modules": folders.modules,
    "router": router,
    "assistants": assistant_folders,
    "commands": commands_table,
    "lint-index": lint_index,
    "verified": verified.verified,
    "notices-packages": notices.packages_table,
    "notices-jars": notices.jars_table,
    "output-prove": prove.output,
}
