"""An assistant is any command that gets a prompt and works in a folder with the pack. The runner measures its reads."""

import sys
import time
from dataclasses import replace
from pathlib import Path

from evals.assistant import Assistant, ask
from scripts.pack import files

PACK_DIR = "skills/spark-real-time-mode"


def _assistant(code: str, *arguments: str, pack_dir: str | None = None, timeout_seconds: float = 30) -> Assistant:
    return Assistant((sys.executable, "-c", code, *arguments), pack_dir, timeout_seconds)


def test_prompt_comes_on_standard_input_or_as_argument(tmp_path: Path) -> None:
    shows = "import os, sys; print(sys.argv[1:], sys.stdin.read(), os.listdir())"

    by_input = ask(_assistant(shows), "it's 1", tmp_path / "a")
    by_argument = ask(_assistant(shows, "-p", "{prompt}"), "2", tmp_path / "b")

    assert ("[] it's 1 []\n", "['-p', '2']  []\n") == (by_input.text, by_argument.text)
    assert by_input.read_bytes is None


def test_bytes_of_opened_files_of_the_pack_are_counted(tmp_path: Path) -> None:
    """The skill and one page are read; a file that is only listed does not count."""
    code = f"import os; os.chdir({PACK_DIR!r}); os.listdir('references'); open('LICENSE').read(); "
    code += "print(open('SKILL.md').read()[:3])"

    reply = ask(_assistant(code, pack_dir=PACK_DIR), "read", tmp_path / "item")

    sizes = [(files.ROOT / name).stat().st_size for name in ("SKILL.md", "LICENSE")]
    assert ("---\n", sum(sizes)) == (reply.text, reply.read_bytes)


def test_arm_with_the_skill_alone_has_no_other_file(tmp_path: Path) -> None:
    code = "from pathlib import Path; found = sorted(path for path in Path().rglob('*') if path.is_file()); "
    code += "print(*found); found[0].read_bytes()"

    reply = ask(replace(_assistant(code, pack_dir=PACK_DIR), only_skill=True), "read", tmp_path / "item")

    assert f"{PACK_DIR}/SKILL.md\n" == reply.text
    assert (files.ROOT / "SKILL.md").stat().st_size == reply.read_bytes


def test_command_that_hangs_is_killed_with_its_children(tmp_path: Path) -> None:
    child = "import threading; threading.Event().wait()"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    started = time.monotonic()

    reply = ask(_assistant(code, timeout_seconds=0.5), "hello", tmp_path / "item")

    assert "the command did not end within 0.5 s" == reply.error
    assert time.monotonic() - started < 10


def test_command_that_fails_is_reported_with_its_message(tmp_path: Path) -> None:
    reply = ask(_assistant("import sys; sys.exit('no login')"), "hello", tmp_path / "item")

    assert "the command ended with status 1: no login" == reply.error
