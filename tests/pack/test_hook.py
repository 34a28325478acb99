import io
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scripts import hook
from scripts.pack.files import ROOT
from spark_rtm.lint.files.formats import SUFFIXES
from tests.lint.test_lint_command import WARNING

BAD = 'frame.writeStream.outputMode("update").trigger(realTime=True).start()\n'
GOOD = BAD.replace("True", '"5 minutes"')
NOTEBOOK = json.dumps({"cells": [{"cell_type": "code", "source": [BAD]}]})
WRITTEN = {"bad.py": BAD, "clean.py": GOOD, "bad.txt": BAD, "warning.py": WARNING, "bad.ipynb": NOTEBOOK}
[HOOK] = json.loads((ROOT / "hooks/hooks.json").read_text(encoding="utf-8"))["hooks"]["PostToolUse"]
[COMMAND] = HOOK["hooks"]
Run = Callable[[bytes], tuple[int, str, str]]
CURSOR = json.loads((ROOT / ".cursor-plugin/plugin.json").read_text(encoding="utf-8"))["hooks"]


def _event(name: str, folder: Path) -> bytes:
    # The fields of PostToolUse in https://code.claude.com/docs/en/hooks
    event = {"hook_event_name": "PostToolUse", "tool_name": "Write", "cwd": str(folder)}
    return json.dumps({**event, "tool_input": {"file_path": name}}).encode()


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs the hook in this process, and returns its status, output and errors."""

    def run_hook(event: bytes) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(event)))
        status = hook.main()
        return status, *capsys.readouterr()

    return run_hook


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "my project"
    folder.mkdir()
    for name, text in WRITTEN.items():
        (folder / name).write_text(text)
    return folder


def _status_of_command(event: bytes, folder: Path, **variables: str) -> tuple[int, str, str]:
    """Run the hook's command as Claude Code does: by a shell, in the folder of the project."""
    command = ["/bin/sh", "-c", COMMAND["command"]]
    variables = {**os.environ, "CLAUDE_PLUGIN_ROOT": str(ROOT), **variables}
    done = subprocess.run(command, input=event, cwd=folder, env=variables, capture_output=True, check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_findings_go_back_to_the_assistant(project: Path) -> None:
    """Status 2 and standard error reach the assistant, even with modules of the project in the way."""
    (project / "json.py").write_text("raise SystemExit(7)\n")

    status, output, errors = _status_of_command(_event("bad.py", project), project)

    assert (2, "") == (status, output)
    assert errors.startswith(f"{project / 'bad.py'}:1:")
    assert "trigger-duration: " in errors


def test_warnings_are_context_and_no_failure(project: Path, run: Run) -> None:
    status, output, errors = run(_event("warning.py", project))

    # https://code.claude.com/docs/en/hooks, "PostToolUse decision control"
    context = json.loads(output)["hookSpecificOutput"]
    assert (0, "", "PostToolUse") == (status, errors, context.pop("hookEventName"))
    assert [True, ["additionalContext"]] == [": warning: " in context["additionalContext"], [*context]]


def test_edited_notebook_is_checked(project: Path, run: Run) -> None:
    """NotebookEdit names its file `notebook_path`."""
    event = {"tool_name": "NotebookEdit", "cwd": str(project), "tool_input": {"notebook_path": "bad.ipynb"}}

    status, output, errors = run(json.dumps(event).encode())

    assert (2, "", True) == (status, output, "trigger-duration: " in errors)


OTHERS = [("path", ".PY"), ("notebook_path", ".ipynb"), ("file_path", ".txt"), ("file_path", "")]


@pytest.mark.parametrize(("key", "suffix"), [*(("file_path", suffix) for suffix in SUFFIXES), *OTHERS])
def test_only_files_of_the_linter_need_python(project: Path, tmp_path: Path, key: str, suffix: str) -> None:
    """On a machine without Python 3.11, other files are silent, even if their content resembles an event."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("sh", "grep"):
        (tools / name).symlink_to(str(shutil.which(name)))
    content = json.dumps({"file_path": "a.py"})
    event = json.dumps({"tool_input": {key: f"/a b/notes{suffix}", "content": content}}).encode()

    status, output, errors = _status_of_command(event, project, PATH=str(tools))

    assert (status, output, "found no Python 3.11" in errors) == (
        (1, "", True) if suffix.lower() in SUFFIXES else (0, "", False)
    )


@pytest.mark.parametrize(
    ("sign", "key", "field"),
    [
        # https://github.com/github/docs/blob/05da5bc3/content/copilot/reference/hooks-reference.md and, for `path`,
        # hooks-configuration.md at 1912b4fc; https://cursor.com/docs/hooks (a copy of 2026-08-25)
        ({"tool_result": {"result_type": "success"}}, "path", "additionalContext"),
        ({"cursor_version": "3.1"}, "file_path", "additional_context"),
    ],
    ids=["copilot", "cursor"],
)
def test_findings_have_the_assistants_form(sign: dict[str, Any], key: str, field: str, project: Path, run: Run) -> None:
    """Copilot and Cursor add the findings to the tool's result, which status 2 would not do."""
    event = json.loads(_event("bad.py", project)) | sign
    event["tool_input"] = {key: str(project / "bad.py")}

    status, output, errors = run(json.dumps(event).encode())

    assert (0, "", [field]) == (status, errors, [*json.loads(output)])
    assert json.loads(output)[field].startswith(f"{project / 'bad.py'}:1:")


@pytest.mark.parametrize("tool_input", [*({"file_path": n} for n in ("clean.py", "bad.txt")), {"command": "ls"}, None])
def test_clean_and_other_files_are_silent(tool_input: Any, project: Path, run: Run) -> None:
    event = {"cwd": str(project), "tool_input": tool_input}

    assert (0, "", "") == run(json.dumps(event if tool_input else []).encode())


@pytest.mark.parametrize(
    ("name", "reason"),
    [("folder.py", "cannot be read as a file"), ("latin.py", "is not encoded in UTF-8"), ("bad.py", "select is 3")],
)
def test_unreadable_file_is_one_line(name: str, reason: str, project: Path, run: Run) -> None:
    (project / "folder.py").mkdir()
    (project / "latin.py").write_bytes(BAD.encode() + b"# \xe9\n")
    if name == "bad.py":
        (project / "pyproject.toml").write_text("[tool.rtm-lint]\nselect = 3\n")

    status, output, errors = run(_event(name, project))

    assert (0, "", 1, True) == (status, output, len(errors.splitlines()), reason in errors), errors


@pytest.mark.parametrize("event", [b"\xff", b"[" * 100_000])
def test_malformed_input_is_one_line(event: bytes, run: Run) -> None:
    assert (0, "", "rtm lint: standard input is not a hook's JSON event, so nothing was checked\n") == run(event)


def test_command_of_the_plugin_runs_anywhere(project: Path) -> None:
    (project / "json.py").write_text("raise SystemExit(7)\n")

    done = subprocess.run([ROOT / "bin/rtm", "lint", "bad.py"], cwd=project, capture_output=True, check=False)

    assert (1, True) == (done.returncode, done.stdout.startswith(b"bad.py:1:")), done.stderr


def test_command_of_a_clone_has_its_packages(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clone = tmp_path / "a clone"
    for folder in ("bin", "hooks"):
        shutil.copytree(ROOT / folder, clone / folder)
    (clone / ".venv/bin").mkdir(parents=True)
    (clone / ".venv/bin/python").write_text('#!/bin/sh\necho "$PYTHONPATH" "$@"\n')
    (clone / ".venv/bin/python").chmod(0o755)

    monkeypatch.delenv("PYTHONPATH", raising=False)
    done = subprocess.run([clone / "bin/rtm", "prove", "x y"], cwd=project, capture_output=True, text=True, check=False)

    assert f"{clone} -P -m spark_rtm prove x y\n" == done.stdout


def test_hooks_have_only_documented_fields_and_the_same_command() -> None:
    """The hook runs after the tools that write files, under their names in Claude Code and in Copilot CLI."""
    # https://code.claude.com/docs/en/plugins-reference; Claude Code 2.1.197 listed the hook on 2026-11-26.
    # Copilot CLI reads the same file and sets the same variable: https://github.com/github/copilot-cli/blob/9532bda/changelog.md
    assert ({"matcher", "hooks"}, {"type", "command", "timeout"}) == (set(HOOK), set(COMMAND))
    assert ("Edit|Write|NotebookEdit|edit|create", "command") == (HOOK["matcher"], COMMAND["type"])
    # https://cursor.com/docs/reference/plugins and https://cursor.com/docs/hooks (copies of 2026-08-25)
    [hook] = CURSOR["hooks"]["postToolUse"]
    assert ({"version": 1, "hooks": {"postToolUse": [hook]}}, "Write") == (CURSOR, hook["matcher"])
    assert COMMAND["command"].replace("CLAUDE_PLUGIN_ROOT", "CURSOR_PLUGIN_ROOT") == hook["command"]
