"""Run `lint`: choose what to check, print the findings, correct files, and return the exit status."""

from __future__ import annotations

import argparse
import io
import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from spark_rtm.lint.claims import claims, claims_in
from spark_rtm.lint.engine import RULES, is_complete, lint_paths, lint_text
from spark_rtm.lint.fixes import difference, fixed
from spark_rtm.lint.rules.unchecked import UncheckedError
from spark_rtm.lint.settings import ALL, Settings, SettingsError, settings_for
from spark_rtm.lint.sources import MARK, read_original, with_line_feeds
from spark_rtm.text.finding import Finding, printable, render, summary
from spark_rtm.text.output import show

STDIN = Path("-")


def run(options: argparse.Namespace) -> int:
    """Run `lint` and return its exit status."""
    if options.explain:
        show(_explained(options.explain))
        return 0
    paths, name, settings = _inputs(options)
    if options.claims:
        return _list_claims(paths, name, settings)
    if STDIN in paths:
        return _check_stdin(_stdin(), name, settings, options)
    if options.diff:
        return _show_changes(_changed(paths, settings))
    changes = _changed(paths, settings) if options.fix else {}
    failed = [path for path, (_, after) in changes.items() if not _wrote(path, after, options)]
    findings = lint_paths(paths, settings=settings, processes=os.cpu_count() or 1)
    status = _reported(findings, settings, options)
    return 2 if failed else status


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
    show("".join(difference(path, *texts) for path, texts in changes.items()).rstrip("\n"))
    return 1 if changes else 0


def _list_claims(paths: Sequence[Path], name: Path, settings: Settings) -> int:
    lines = claims_in(with_line_feeds(_stdin()), name.as_posix()) if STDIN in paths else claims(paths, settings)
    show("\n".join(lines))
    return 0


def _check_stdin(text: str, name: Path, settings: Settings, options: argparse.Namespace) -> int:
    findings = _findings_in(text, name, settings)
    after = fixed(text, name.as_posix(), findings, settings) if options.fix or options.diff else text
    if options.diff:
        show(difference(name, text, after).rstrip("\n") if after != text else "")
        return 1 if after != text else 0
    if options.fix:
        sys.stdout.write(after)
        findings = _findings_in(after, name, settings)
        print(render(findings), end="\n" if findings else "", file=sys.stderr)  # the text is on standard output
        return _status(findings, settings)
    return _reported(findings, settings, options)


def _findings_in(text: str, name: Path, settings: Settings) -> list[Finding]:
    if settings.excludes(name):
        return []
    return lint_text(with_line_feeds(text), name.as_posix(), settings.engine, settings=settings)


def _stdin() -> str:
    for stream in (sys.stdin, sys.stdout):
        if isinstance(stream, io.TextIOWrapper):  # an editor gets its line ends back
            stream.reconfigure(encoding="utf-8", newline="")
    return sys.stdin.read()


def _wrote(path: Path, text: str, options: argparse.Namespace) -> bool:
    """Replace a file at once, so that it is never cut; keep its mode, and the link that leads to it."""
    target = path.resolve()
    try:
        if not os.access(target, os.W_OK):
            raise PermissionError(None, "it is read-only")
        with tempfile.TemporaryDirectory(prefix=".rtm-", dir=target.parent) as folder:
            new = Path(folder, target.name)
            new.write_bytes(text.encode())
            shutil.copymode(target, new)
            new.replace(target)
    except OSError as error:
        options.program.wrong(f"{printable(str(path))} was not corrected: {error.strerror}; correct it by hand")
        return False
    return True


def _changed(paths: Sequence[Path], settings: Settings) -> dict[Path, tuple[str, str]]:
    """Return the text of each file that can be corrected, before and after."""
    by_path: dict[str, list[Finding]] = {}
    for finding in lint_paths(paths, settings=settings):
        by_path.setdefault(finding.path, []).append(finding)
    changes = {}
    for path, findings in by_path.items():
        if not path.endswith(".py") or not is_complete(findings):
            continue
        try:
            before = read_original(Path(path))
        except UncheckedError:  # the file has changed since it was checked
            continue
        mark = MARK if before.startswith(MARK) else ""
        after = mark + fixed(before.removeprefix(mark), path, findings, settings)
        if after != before:
            changes[Path(path)] = (before, after)
    return changes


def _reported(findings: list[Finding], settings: Settings, options: argparse.Namespace) -> int:
    text = _statistics(findings) if options.statistics else render(findings, options.format, _details(findings))
    show(text)
    if findings and options.format == "text" and not options.statistics:
        print(summary(findings), file=sys.stderr)
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
