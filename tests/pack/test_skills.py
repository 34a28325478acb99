import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.pack import files
from scripts.skills import main


def _bare(*arguments: str, root: Path, home: Path | None = None) -> subprocess.CompletedProcess[str]:
    # Isolated and without site-packages: nothing but the standard library can be imported.
    command = [sys.executable, "-I", "-S", str(root / "scripts/skills.py"), *arguments]
    env = os.environ | ({"HOME": str(home)} if home else {})
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env=env, cwd="/")


def test_generate_writes_what_is_outdated(
    copied: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(files, "ROOT", copied)
    (copied / "manifest.json").unlink()

    assert 0 == main(["generate"])
    assert "wrote manifest.json\n" == capsys.readouterr().out


def test_old_python_is_named_in_one_line() -> None:
    """Python 3.8 can parse the file, which names the needed version."""
    script = files.ROOT / "scripts/skills.py"
    ast.parse(script.read_text(), feature_version=(3, 8))
    code = f"import runpy, sys; sys.version_info = (3, 9, 6); runpy.run_path({str(script)!r}, run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", code, "lint"], capture_output=True, text=True, check=False, timeout=60)

    assert (2, "skills.py: this is Python 3.9; run it with Python 3.11 or newer\n") == (done.returncode, done.stderr)


def test_lint_and_install_run_without_any_package(copied: Path, tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text("df.writeStream.trigger(realTime=True).start()\n")
    linted = _bare("lint", str(tmp_path / "job.py"), root=copied)
    installed = _bare("install", "--to", str(tmp_path / "skills"), root=copied)
    again = _bare("install", "--check", "--to", str(tmp_path / "skills"), root=tmp_path / "skills/spark-real-time-mode")

    assert 1 == linted.returncode
    assert '"5 minutes"' in linted.stdout
    assert (0, 0) == (installed.returncode, again.returncode), installed.stderr + again.stderr


@pytest.mark.parametrize(
    ("arguments", "remedy"), [(["validate"], "make check"), (["prove", "job.py:transform"], "make setup")]
)
def test_command_without_its_packages_names_the_remedy(arguments: list[str], remedy: str, copied: Path) -> None:
    done = _bare(*arguments, root=copied)

    assert (2, True) == (done.returncode, remedy in done.stderr), done.stderr


def test_faulty_copy_does_not_stop_the_other_folders(copied: Path, tmp_path: Path) -> None:
    for sign in (".claude", ".cursor", ".copilot"):
        (tmp_path / sign / "skills/spark-real-time-mode").mkdir(parents=True)
    (tmp_path / ".claude/skills/spark-real-time-mode/manifest.json").write_text("{")
    (tmp_path / ".cursor/skills/spark-real-time-mode/SKILL.md").write_text("mine")

    done = _bare("install", root=copied, home=tmp_path)

    edited, installed = sorted(done.stdout.splitlines())
    assert (2, f"installed into {tmp_path}/.copilot/skills") == (done.returncode, installed)
    assert done.stderr.startswith(f"skills.py: cannot install into {tmp_path}/.claude/skills: ")
    assert edited.startswith(
        f"{tmp_path}/.cursor/skills/spark-real-time-mode/SKILL.md:1: error: install: has local edits"
    )


def test_skill_with_malformed_manifest_is_not_installed(copied: Path, tmp_path: Path) -> None:
    (copied / "manifest.json").write_text("{")

    done = _bare("install", "--to", str(tmp_path / "skills"), root=copied)

    assert (2, 1) == (done.returncode, len(done.stderr.splitlines()))
    assert "download the skill again" in done.stderr
    assert not (tmp_path / "skills").exists()
