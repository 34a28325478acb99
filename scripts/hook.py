"""
Lint the file that Claude Code, Copilot CLI or Cursor has just written. Standard input is the hook's JSON event.

Claude Code gets errors on standard error with exit status 2, and findings that are all warnings from a JSON field on
standard output. Copilot CLI and Cursor read all findings from such a field. If the linter does not support the file
type or cannot check the file, the exit status is 0.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from spark_rtm.lint.engine import RULES, lint_paths
from spark_rtm.lint.files.formats import SUFFIXES
from spark_rtm.lint.rules.rule import UNCHECKED
from spark_rtm.lint.settings import SettingsError, settings_for
from spark_rtm.text.finding import Finding, printable, render


def main() -> int:
    """Lint the file named in the JSON on standard input, and return the exit status."""
    try:
        event = json.load(sys.stdin.buffer)
        path = _written(event)
    except (ValueError, RecursionError):
        return _unchecked("standard input is not a hook's JSON event, so nothing was checked")
    if path is None or path.suffix.lower() not in SUFFIXES:
        return 0
    if not os.path.isfile(path):  # noqa: PTH113  # a method of `Path` raises below an inaccessible folder
        return _unchecked(f"{path} cannot be read as a file, so it was not checked")
    try:
        findings = lint_paths([path], settings=settings_for([path], [rule.id for rule in RULES], {}))
    except SettingsError as error:
        return _unchecked(str(error))
    if all(finding.rule == UNCHECKED.id for finding in findings):
        return _unchecked(f"{path}: {findings[0].text}") if findings else 0
    return _hand_over(findings, event)


def _hand_over(findings: list[Finding], event: dict[str, Any]) -> int:
    """Print the findings in the format that the assistant expects, and return the exit status."""
    text = render(findings)
    # Copilot CLI stores the tool's result in `tool_result`. Claude Code stores it in `tool_response`.
    for sign, field in (("cursor_version", "additional_context"), ("tool_result", "additionalContext")):
        if sign in event:
            print(json.dumps({field: text}))
            return 0
    if any(finding.severity == "error" for finding in findings):
        print(text, file=sys.stderr)
        return 2
    # Status 2 would tell Claude Code that the edit has failed.
    print(json.dumps({"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": text}}))
    return 0


def _written(event: Any) -> Path | None:
    """Return the path of the file that the tool has written, or None if the event contains no path."""
    tool_input = event.get("tool_input") if isinstance(event, dict) else None
    given = tool_input if isinstance(tool_input, dict) else {}
    # Claude Code's NotebookEdit stores the file's path in `notebook_path`, and Copilot CLI's tools in `path`.
    name = next((given[key] for key in ("file_path", "notebook_path", "path") if key in given), None)
    return Path(str(event.get("cwd") or ""), name) if isinstance(name, str) and "\0" not in name else None


def _unchecked(reason: str) -> int:
    print(printable(f"rtm lint: {reason}"), file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
