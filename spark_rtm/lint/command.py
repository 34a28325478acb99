"""Run `rtm lint`: select files, print findings, apply fixes, and return the exit status."""

import io
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from spark_rtm.lint import Options
from spark_rtm.lint.engine import RULES, is_complete, lint_sources
from spark_rtm.lint.files.formats import PAGES, SUFFIXES
from spark_rtm.lint.files.prose import claims_in
from spark_rtm.lint.fixes import difference, fixable, fixed
from spark_rtm.lint.marks import named_rules
from spark_rtm.lint.problem import UncheckedError, time_limit
from spark_rtm.lint.rules.claim import REMOVED
from spark_rtm.lint.rules.rule import UNCHECKED
from spark_rtm.lint.settings import ALL, Settings, SettingsError, settings_for
from spark_rtm.lint.sources import MARK, MAX_BYTES, Sources, is_micro_batch, read_sources
from spark_rtm.program import UsageError
from spark_rtm.text.finding import FULL, Finding, printable, render, show, summary

STDIN = Path("-")
Changes = Mapping[Path, tuple[str, str]]
"""The original and the fixed text of each fixable file."""


def run(options: Options) -> int:
    """Run `rtm lint` and return the exit status."""
    try:
        if options.explain:
            show(_explained(options.explain))
            return 0
        sources, settings = _inputs(options)
    except SettingsError as error:
        raise UsageError(str(error)) from error
    if options.claims:
        return _list_claims(sources)
    _name_removed_rules(sources, settings)
    if sources.micro_batch and not settings.as_real_time:
        files = ", ".join(path.as_posix() for path in sources.micro_batch[:3])
        files += f" and {len(sources.micro_batch) - 3} more" if len(sources.micro_batch) > 3 else ""
        reason = "have no real-time trigger in that file, so they were not checked for real-time mode"
        print(f"information: the queries in {files} {reason}; --as-real-time checks them", file=sys.stderr)
        sources.count -= len(sources.micro_batch)
    return _check(sources, settings, options)


def _name_removed_rules(sources: Sources, settings: Settings) -> None:
    comments = (named_rules(text) for _, text in sources.texts() if "rtm:" in text)
    if names := settings.removed | (set().union(*comments) & REMOVED):
        remedy = "delete the rules from settings and comments; `lint --claims` lists the sentences about real-time mode"
        print(f"information: these rules no longer exist: {', '.join(sorted(names))}; {remedy}", file=sys.stderr)


def _check(sources: Sources, settings: Settings, options: Options) -> int:
    findings = lint_sources(sources, settings=settings)
    changes = _changes(findings, sources, settings) if options.fix or options.diff else {}
    if options.diff:
        return _show_changes(changes, findings)
    if sources.given and options.fix:
        sources.given |= {path: after for path, (_, after) in changes.items()}
        sys.stdout.writelines(sources.given.values())
        findings = lint_sources(sources, settings=settings)
        print(render(findings), end="\n" if findings else "", file=sys.stderr)  # stdout contains the fixed text
        return _status(findings, settings)
    failed = {path: problem for path, (_, after) in changes.items() if (problem := _written(path, after))}
    if changes:
        findings = lint_sources(sources, settings=settings)
    _report(findings, sources, options)
    if failed:
        lines = (f"{path} was not corrected: {problem}; correct the file by hand" for path, problem in failed.items())
        raise UsageError(*lines)
    return _status(findings, settings)


def _inputs(options: Options) -> tuple[Sources, Settings]:
    """Return the files to check, and the settings. Raise SettingsError if the arguments are invalid."""
    paths = list(options.paths) or ([STDIN] if options.stdin_filename else [Path()])
    is_stdin = STDIN in paths
    if is_stdin and len(paths) > 1:
        raise SettingsError("- (standard input) was combined with other paths, so nothing was checked; pass - alone")
    name = Path(options.stdin_filename or "stdin.py")
    if missing := [str(path) for path in paths if path != STDIN and not path.exists()]:
        raise SettingsError(f"these paths do not exist, so nothing was checked; correct them: {', '.join(missing)}")
    given = {key: getattr(options, key) for key in ("select", "ignore", "exclude", "engine", "strict", "as_real_time")}
    settings = settings_for([name] if is_stdin else paths, [rule.id for rule in RULES], given)
    if is_stdin:
        text = _stdin()
        micro_batch = [name] if is_micro_batch(text, name.suffix.lower()) else []
        paths = [] if settings.excludes(name) else [name]
        return Sources(paths, {name: text}, micro_batch=micro_batch, count=len(paths)), settings
    return read_sources(paths, settings.excludes, as_real_time=settings.as_real_time), settings


def _show_changes(changes: Changes, findings: Sequence[Finding]) -> int:
    text = "".join(difference(path, *texts) for path, texts in changes.items()).rstrip("\n")
    show("\n".join(map(printable, text.split("\n"))) if sys.stdout.isatty() else text)
    if not is_complete(findings):
        count = len({finding.path for finding in findings if finding.rule == UNCHECKED.id})
        raise UsageError(f"files that were not checked: {count}; run lint without --diff to list the files")
    return 1 if changes else 0


def _list_claims(sources: Sources) -> int:
    pages = ((path, text) for path, text in sources.texts() if path in sources.given or path.suffix.lower() in PAGES)
    lines: list[str] = []
    for path, text in pages:
        try:
            with time_limit():
                lines += claims_in(text, path.as_posix())
        except UncheckedError as error:
            sources.unchecked.append((path, error.problem))
    show("\n".join(lines))
    if sources.unchecked:
        raise UsageError(*(f"{path.as_posix()}: {problem.message}" for path, problem in sources.unchecked))
    return 0


def _stdin() -> str:
    for stream in (sys.stdin, sys.stdout):
        if isinstance(stream, io.TextIOWrapper):  # keep the original line endings
            stream.reconfigure(encoding="utf-8", newline="")
    text = sys.stdin.read(MAX_BYTES + 1)
    if len(text) > MAX_BYTES or "\0" in text:
        problem = f"has more than {MAX_BYTES:,} characters" if len(text) > MAX_BYTES else "is not encoded in UTF-8"
        raise SettingsError(f"standard input {problem}, so nothing was checked; pass UTF-8 text, or split the text")
    return text


def _written(path: Path, text: str) -> str:
    """Replace a file atomically, preserving permissions and symbolic links. Return the problem, if any."""
    target = path.resolve()
    try:
        if not os.access(target, os.W_OK):
            return "it is read-only"
        with tempfile.TemporaryDirectory(prefix=".rtm-", dir=target.parent) as folder:
            new = Path(folder, target.name)
            new.write_bytes(text.encode())
            shutil.copymode(target, new)
            new.replace(target)
    except OSError as error:
        return error.strerror or str(error)
    return ""


def _changes(findings: Sequence[Finding], sources: Sources, settings: Settings) -> Changes:
    changes = {}
    for path, found in _by_path(findings).items():
        if not (before := _original(path, sources) if is_complete(found) else ""):
            continue
        mark = MARK if before.startswith(MARK) else ""
        after = mark + fixed(before.removeprefix(mark), str(path), found, settings)
        if after != before:
            changes[path] = (before, after)
    return changes


def _by_path(findings: Sequence[Finding]) -> dict[Path, list[Finding]]:
    code = (finding for finding in findings if finding.path.endswith(".py"))
    return {Path(path): list(found) for path, found in groupby(code, attrgetter("path"))}


def _original(path: Path, sources: Sources) -> str:
    try:
        return sources.original(path)
    except UncheckedError:  # the file is unreadable, or has changed since the check
        return ""


def _report(findings: list[Finding], sources: Sources, options: Options) -> None:
    details = _details(findings)
    has_colors = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    show(render(findings, options.format, details, has_colors=has_colors))
    files = f"({sources.count:,} file{'' if sources.count == 1 else 's'} checked)"
    if not findings and not sources.count and not sources.micro_batch:
        reason = f"the paths contain no file that lint reads ({', '.join(sorted(SUFFIXES))}), or all are excluded"
        print(f"warning: no file was checked, because {reason}; correct the paths", file=sys.stderr)
    elif not findings and sources.count and sys.stderr.isatty():
        print(f"All checks passed {files}", file=sys.stderr)
    if findings and options.format in {"text", FULL}:
        count = sum(
            fixable(_original(path, sources).removeprefix(MARK), str(path), found)
            for path, found in _by_path(findings).items()
        )
        remedy = f"; {count} fixable with --fix" if count else ""
        uris = {rule: detail.get("helpUri") for rule, detail in sorted(details.items())}
        pages = [f"{rule}: {uri}" if uri else f"rtm lint --explain {rule}" for rule, uri in uris.items()]
        print("\n".join([f"{summary(findings)} {files}{remedy}", *pages]), file=sys.stderr)


def _status(findings: list[Finding], settings: Settings) -> int:
    if not is_complete(findings):
        return 2
    counted = {"error", "warning"} if settings.strict else {"error"}
    return 1 if any(finding.severity in counted for finding in findings) else 0


def _details(findings: list[Finding]) -> dict[str, dict[str, object]]:
    names = {finding.rule for finding in findings}
    return {
        rule.id: {
            "shortDescription": {"text": rule.what},
            "fullDescription": {"text": f"{rule.what} {rule.why}"},
            "help": {"text": rule.explanation()},
            **({"helpUri": rule.help_uri} if rule.help_uri else {}),
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
