"""Read the linter's settings from the command line and from `[tool.rtm-lint]` in `pyproject.toml`."""

import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from os.path import commonpath
from pathlib import Path
from typing import Any

from spark_rtm.lint.rules.claim import REMOVED
from spark_rtm.lint.rules.rule import UNCHECKED
from spark_rtm.text.finding import ENGINES

TABLE = "rtm-lint"
ALL = "ALL"
MAX_BYTES = 1_000_000


class SettingsError(ValueError):
    """Raised if a linter setting is invalid."""


@dataclass(frozen=True)
class Settings:
    """The selected files and rules. Patterns are relative to `root`."""

    select: tuple[str, ...] = ()
    """Rules and rule groups to report (empty: all)."""
    ignore: tuple[str, ...] = ()
    """Rules and rule groups not to report."""
    exclude: tuple[str, ...] = ()
    """Patterns for files and folders to skip."""
    per_file_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Rules not to report, by file pattern."""
    engine: str | None = None
    """The only engine to report (None: both)."""
    strict: bool = False
    """Whether warnings, like errors, set exit status 1."""
    as_real_time: bool = False
    """Whether micro-batch queries are checked as if they ran in real-time mode."""
    root: Path = field(default_factory=Path)

    def reports(self, rule: str, path: str) -> bool:
        """Return whether this rule's findings in this file are reported. `unchecked` is always reported."""
        is_selected = not self.select or rule == UNCHECKED.id or _names(self.select, rule)
        is_ignored = _names(self.ignore, rule) or any(
            _names(rules, rule) and _matches(self._relative(Path(path)), pattern)
            for pattern, rules in self.per_file_ignores.items()
        )
        return is_selected and not is_ignored

    @property
    def removed(self) -> set[str]:
        """Rules in the settings that no longer exist."""
        named = {*self.select, *self.ignore, *(rule for rules in self.per_file_ignores.values() for rule in rules)}
        return named & REMOVED

    def excludes(self, path: Path) -> bool:
        """Return whether a pattern excludes a file or one of its folders."""
        return any(_matches(self._relative(path), pattern) for pattern in self.exclude)

    def _relative(self, path: Path) -> str:
        try:
            return path.absolute().relative_to(self.root.absolute()).as_posix()
        except ValueError:
            return path.absolute().as_posix()


def settings_for(paths: Iterable[Path], rules: Iterable[str], given: Mapping[str, Any]) -> Settings:
    """Return the settings in the nearest `pyproject.toml` above all paths. `given` overrides them, except for None."""
    file = _project_file([path.absolute() for path in paths])
    settings = _read(file, set(rules)) if file else Settings()
    changes = {name: value for name, value in given.items() if value is not None}
    _check_rules(changes, set(rules), "the command line")
    return replace(settings, **changes)


def _project_file(paths: list[Path]) -> Path | None:
    folder = Path(commonpath(paths)) if paths else Path.cwd()
    for each in (folder, *folder.parents):
        file = each / "pyproject.toml"
        if file.is_file() and f"tool.{TABLE}".encode() in _content(file):
            return file
    return None


def _content(file: Path) -> bytes:
    if file.stat().st_size > MAX_BYTES:
        raise SettingsError(f"{file} has more than {MAX_BYTES:,} bytes, so nothing was checked; shorten the file")
    return file.read_bytes()


def _read(file: Path, rules: set[str]) -> Settings:
    try:
        tool = tomllib.loads(_content(file).decode()).get("tool", {})
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"{file} cannot be read ({error}), so nothing was checked; correct the file") from error
    table = tool.get(TABLE, {}) if isinstance(tool, dict) else tool
    if not isinstance(table, dict):
        raise SettingsError(f"{file}: [tool.{TABLE}] is not a table, so nothing was checked; make it a table")
    values: dict[str, Any] = {}
    for key, value in table.items():
        name = key.replace("-", "_")
        if name not in CHECKS:
            allowed = ", ".join(sorted(each.replace("_", "-") for each in CHECKS))
            raise SettingsError(f"{file}: unknown setting {key!r} in [tool.{TABLE}]; use one of {allowed}")
        is_right, form = CHECKS[name]
        if not is_right(value):
            raise SettingsError(f"{file}: {key} is {value!r}; write {form}")
        values[name] = tuple(value) if isinstance(value, list) else value
    _check_rules(values, rules, str(file))
    return Settings(**values, root=file.parent)


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


CHECKS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "select": (_are_texts, "a list of rules"),
    "ignore": (_are_texts, "a list of rules"),
    "exclude": (_are_texts, "a list of patterns"),
    "per_file_ignores": (
        lambda value: isinstance(value, dict) and all(map(_are_texts, value.values())),
        "a table with a list of rules for each pattern",
    ),
    "engine": (lambda value: value in ENGINES, " or ".join(map(repr, ENGINES))),
    "strict": (lambda value: isinstance(value, bool), "true or false"),
}
"""The allowed project settings, each with a check and a description of valid values."""


def _check_rules(values: Mapping[str, Any], rules: set[str], place: str) -> None:
    named = [*values.get("select", ()), *values.get("ignore", ())]
    named += [rule for ignored in values.get("per_file_ignores", {}).values() for rule in ignored]
    known = {*rules, UNCHECKED.id, *REMOVED}
    for name in named:
        if name != ALL and not any(_names([name], rule) for rule in known):
            near = get_close_matches(name, known, 3, 0.5)
            remedy = f"did you mean {' or '.join(near)}?" if near else "`--explain ALL` lists the rules"
            raise SettingsError(f"{place} contains the rule {name!r}, which does not exist; {remedy}")


def _names(names: Iterable[str], rule: str) -> bool:
    """Return whether the names contain a rule, its group (such as `cluster` for `cluster-flag`) or `ALL`."""
    return any(name in {rule, ALL} or rule.startswith(f"{name}-") for name in names)


def _matches(path: str, pattern: str) -> bool:
    """Return whether a pattern matches a path, one of its parent folders, or the name of either."""
    pattern = pattern.removeprefix("./").rstrip("/")
    parts = path.split("/")
    below = ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]
    return any(fnmatchcase(each, pattern) for each in (*parts, *below))
