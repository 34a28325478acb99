"""Run `lint`: choose what to check, print the findings, correct files, and return the exit status."""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from spark_rtm.lint.claims import claims, claims_in
from spark_rtm.lint.engine import RULES, is_complete, lint_paths, lint_text
from spark_rtm.lint.fixes import difference, fixed
from spark_rtm.lint.settings import ALL, Settings, SettingsError, settings_for
from spark_rtm.lint.sources import read_text
from spark_rtm.text.finding import Finding, render
from spark_rtm.text.output import show

STDIN = Path("-")


def run(options: argparse.Namespace) -> int:
    """Run `lint` and return its exit status."""
    if options.explain:
        show(_explained(options.explain), to_people=False)
        return 0
    paths, name, settings = _inputs(options)
    if options.claims:
        return _list_claims(paths, name, settings)
    if STDIN in paths:
        return _check_stdin(sys.stdin.read(), name, settings, options)
    if options.diff:
        return _show_changes(_changed(paths, settings))
    if options.fix:
        for path, (_, after) in _changed(paths, settings).items():
            path.write_bytes(after.encode())
    findings = lint_paths(paths, settings=settings, processes=os.cpu_count() or 1)
    return _reported(findings, settings, options)


def _inputs(options: argparse.Namespace) -> tuple[list[Path], Path, Settings]:
    """Return the paths, the name of standard input, and the settings; raise SettingsError if they make no sense."""
    paths = options.paths or ([STDIN] if options.stdin_filename else [Path()])
    is_stdin = STDIN in paths
    if is_stdin and len(paths) > 1:
        raise SettingsError("- is standard input, so nothing was checked; pass no other path")
    name = Path(options.stdin_filename or "stdin.py")
    if missing := [str(path) for path in paths if path != STDIN and not path.exists()]:
        raise SettingsError(f"these paths do not exist, so nothing was checked: {', '.join(missing)}")
    given = {key: getattr(options, key) for key in ("select", "ignore", "exclude", "engine", "strict")}
    settings = settings_for([name] if is_stdin else paths, [rule.id for rule in RULES], given)
    return paths, name, settings


def _show_changes(changes: Mapping[Path, tuple[str, str]]) -> int:
    show("".join(difference(path, *texts) for path, texts in changes.items()).rstrip("\n"), to_people=False)
    return 1 if changes else 0


def _list_claims(paths: Sequence[Path], name: Path, settings: Settings) -> int:
    lines = claims_in(sys.stdin.read(), name.as_posix()) if STDIN in paths else claims(paths, settings)
    show("\n".join(lines), to_people=False)
    return 0


def _check_stdin(text: str, name: Path, settings: Settings, options: argparse.Namespace) -> int:
    findings = _findings_in(text, name, settings)
    after = fixed(text, name.as_posix(), findings, settings) if options.fix or options.diff else text
    if options.diff:
        show(difference(name, text, after).rstrip("\n") if after != text else "", to_people=False)
        return 1 if after != text else 0
    if options.fix:
        sys.stdout.write(after)
        findings = (
            [] if settings.excludes(name) else lint_text(after, name.as_posix(), settings.engine, settings=settings)
        )
        show(render(findings), to_people=True)
        return _status(findings, settings)
    return _reported(findings, settings, options)


def _findings_in(text: str, name: Path, settings: Settings) -> list[Finding]:
    if settings.excludes(name):
        return []
    return lint_text(text, name.as_posix(), settings.engine, settings=settings)


def _changed(paths: Sequence[Path], settings: Settings) -> dict[Path, tuple[str, str]]:
    """Return the text of each file that can be corrected, before and after."""
    by_path: dict[str, list[Finding]] = {}
    for finding in lint_paths(paths, settings=settings):
        by_path.setdefault(finding.path, []).append(finding)
    changes = {}
    for path, findings in by_path.items():
        before = read_text(Path(path)) if path.endswith(".py") else ""
        after = fixed(before, path, findings, settings)
        if after != before:
            changes[Path(path)] = (before, after)
    return changes


def _reported(findings: list[Finding], settings: Settings, options: argparse.Namespace) -> int:
    text = _statistics(findings) if options.statistics else render(findings, options.format, _details(findings))
    show(text, to_people=options.format == "text" and not options.statistics)
    return _status(findings, settings)


def _status(findings: list[Finding], settings: Settings) -> int:
    if not is_complete(findings):
        return 2
    counted = {"error", "warning"} if settings.strict else {"error"}
    return 1 if any(finding.severity in counted for finding in findings) else 0


def _statistics(findings: list[Finding]) -> str:
    counts = Counter((finding.rule, finding.severity) for finding in findings)
    rows = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    return "\n".join(f"{count:6}  {severity:11}  {rule}" for (rule, severity), count in rows)


def _details(findings: list[Finding]) -> dict[str, dict[str, object]]:
    names = {finding.rule for finding in findings}
    return {
        rule.id: {
            "shortDescription": {"text": rule.what},
            "fullDescription": {"text": f"{rule.what} {rule.why}"},
            "help": {"text": rule.explanation(), "markdown": rule.section()},
            "helpUri": rule.help_uri,
        }
        for rule in RULES
        if rule.id in names
    }


def _explained(name: str) -> str:
    if name == ALL:
        width = max(len(rule.id) for rule in RULES)
        return "\n".join(f"{rule.id:{width}}  {rule.what}" for rule in RULES)
    found = [rule.explanation() for rule in RULES if rule.id == name or rule.id.startswith(f"{name}-")]
    if not found:
        raise SettingsError(f"the rule {name!r} does not exist; `--explain {ALL}` lists the rules")
    return "\n\n".join(found)
