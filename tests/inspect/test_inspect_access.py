"""`inspect` writes nothing while it reads files and brokers, needs no package for local folders, and names failures."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import fsspec
import pytest

from scripts.pack import files
from tests.inspect.files import add_state, run_inspect


def _snapshot(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    paths = sorted(folder.rglob("*"))
    return {
        str(path): (path.stat().st_mtime_ns, path.stat().st_mode, path.read_bytes() if path.is_file() else b"")
        for path in [folder, *paths]
    }


READ_ONLY = """
import sys, os
def refuse(event, arguments):
    writes = event == "open" and (arguments[2] or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    if writes or event in ("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.truncate", "os.utime", "os.chmod"):
        os._exit(99)
    if event in ("subprocess.Popen", "socket.connect"):
        os._exit(98)
sys.path.insert(0, sys.argv.pop(1))
from scripts import skills
sys.addaudithook(refuse)
sys.exit(skills.main(sys.argv[1:]))
"""


@pytest.mark.parametrize("option", ["--format=text", "--as-starting-offsets"])
def test_nothing_is_written_and_no_package_is_needed(checkpoint: Path, option: str) -> None:
    """Python itself refuses each write and has no packages."""
    add_state(checkpoint)
    for path in (checkpoint, *checkpoint.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    before = _snapshot(checkpoint)

    command = [sys.executable, "-I", "-S", "-B", "-c", READ_ONLY, str(files.ROOT), "inspect", str(checkpoint), option]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    assert (0, "") == (done.returncode, done.stderr)
    assert before == _snapshot(checkpoint)


def test_write_would_be_refused(tmp_path: Path) -> None:
    code = READ_ONLY.replace("sys.exit(skills", f"open({str(tmp_path / 'x')!r}, 'w'); sys.exit(skills")
    command = [sys.executable, "-I", "-S", "-B", "-c", code, str(files.ROOT), "inspect", str(tmp_path)]

    assert 99 == subprocess.run(command, capture_output=True, check=False, timeout=60).returncode


def test_object_store_gives_the_same_report(checkpoint: Path, capsys: pytest.CaptureFixture[str]) -> None:
    add_state(checkpoint)
    store = fsspec.filesystem("memory")
    store.put(str(checkpoint), "/bucket/clicks", recursive=True)

    local = json.loads(run_inspect(capsys, f"file://{checkpoint}", "--format", "json")[1])
    status, out, _ = run_inspect(capsys, "memory://bucket/clicks", "--format", "json")
    remote = json.loads(out)

    for report in (local, remote):
        for field in ("checkpoint", "last_commit_seconds", "modes", "replay"):
            del report[field]
    assert 0 == status
    assert local == remote


def test_environment_configures_the_file_system(checkpoint: Path, tmp_path: Path) -> None:
    """`FSSPEC_S3_ENDPOINT_URL` names an S3-compatible store in the same way as this variable names an archive."""
    archive = shutil.make_archive(str(tmp_path / "archive"), "zip", checkpoint.parent, checkpoint.name)
    command = [sys.executable, str(files.ROOT / "scripts/skills.py"), "inspect", "zip://checkpoint"]
    environment = {**os.environ, "FSSPEC_ZIP_FO": archive}
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env=environment)

    assert (0, "") == (done.returncode, done.stderr)
    assert "last committed 2, last planned 2" in done.stdout


def test_missing_folder_in_a_store_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """Stores have no empty folders, so a missing folder is the usual mistake."""
    status, _, err = run_inspect(capsys, "memory://none")

    assert 2 == status
    assert "memory://none does not exist or is empty" in err


def test_object_store_without_fsspec_names_the_package(tmp_path: Path) -> None:
    command = [sys.executable, "-I", "-S", str(files.ROOT / "scripts/skills.py"), "inspect", "s3://bucket/clicks"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    assert 2 == done.returncode
    assert "pip install fsspec" in done.stderr


PATIENT = (
    "import sys; from spark_rtm.cli import RTM; from spark_rtm.inspect import sources; "
    "sources.TIMEOUT_SECONDS = 3_600; sys.exit(RTM.main(sys.argv[1:]))"
)


def test_ctrl_c_ends_the_wait_for_a_broker(checkpoint: Path) -> None:
    """The server accepts the connection and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        words = ["inspect", str(checkpoint), "--bootstrap-servers", f"127.0.0.1:{server.getsockname()[1]}"]
        command, pipe = [sys.executable, "-c", PATIENT, *words], subprocess.PIPE
        with subprocess.Popen(command, cwd=files.ROOT, stdout=pipe, stderr=pipe) as process:
            connection, _ = server.accept()
            process.send_signal(signal.SIGINT)
            try:
                output = process.communicate(timeout=60)
            finally:
                process.kill()
                connection.close()

    assert (130, (b"", b"")) == (process.returncode, output)


@pytest.mark.parametrize(
    ("arguments", "content", "message"),
    [
        (["--bootstrap-servers", "127.0.0.1:1"], "# login\nsecurity.protocl = SSL\n", 'property: "security.protocl"'),
        (["--bootstrap-servers", "127.0.0.1:1"], "", "Kafka at 127.0.0.1:1 did not respond"),
        (["--bootstrap-servers", "127.0.0.1:1"], None, "cannot read --command-config"),
        ([], "", "--command-config has no effect without --bootstrap-servers"),
    ],
    ids=["unknown property", "unreachable broker", "missing file", "no servers"],
)
def test_wrong_connection_is_named(
    checkpoint: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    content: str | None,
    message: str,
) -> None:
    monkeypatch.setattr("spark_rtm.inspect.sources.TIMEOUT_SECONDS", 0.2)
    config = checkpoint.with_name("client.properties")
    if content is not None:
        config.write_text(content)

    status, out, err = run_inspect(capsys, checkpoint, *arguments, "--command-config", config)

    assert (2, "") == (status, out)
    assert message in err
