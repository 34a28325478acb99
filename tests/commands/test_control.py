"""The socket between `rtm` and a job, without Spark. No request in these tests is a valid command."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from spark_rtm.cli import main
from spark_rtm.commands import control, listener
from spark_rtm.commands.control import listen

NO_SPARK: Any = None
REQUEST = {"command": "drain", "query": None, "deadline_seconds": 5.0}
SECRET = "\x1b]0;pwned\x07\x1b[2J\rall verdicts good\x1b[8m"


@contextmanager
def job(path: Path, answer: bytes) -> Iterator[None]:
    """Answer one command with arbitrary bytes, which no real job sends."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()

        def run() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(10_000)
                connection.sendall(answer)

        thread = threading.Thread(target=run)
        thread.start()
        yield
        thread.join()


def asked(path: Path, request: bytes) -> bytes:
    """Return the reply to arbitrary bytes, after which nothing else is sent."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(30)
        client.connect(str(path))
        client.sendall(request)
        client.shutdown(socket.SHUT_WR)
        return client.makefile("rb").read()


def lines(*texts: str, ok: bool = False) -> bytes:
    return json.dumps([{"ok": ok, "text": text} for text in texts]).encode() + b"\n"


@pytest.mark.parametrize(
    ("answer", "status", "message"),
    [
        (lines("q: done", ok=True), 0, "q: done\n"),
        (lines("q: no", "r: no"), 1, "q: no\nr: no\n"),
        (lines(SECRET), 1, "\\x1b]0;pwned\\x07\\x1b[2J\\rall verdicts good\\x1b[8m\n"),
        (lines("a\nb"), 1, "a\\nb\n"),
        (b"[]\n", 2, "is not the socket of a job that calls `listen`"),
        (b'[{"ok": true}]\n', 2, "is not the socket of a job that calls `listen`"),
        (b"hello\n", 2, "is not the socket of a job that calls `listen`"),
        (b"", 2, "the job exited before it replied; when restarted, it continues from its checkpoint"),
    ],
    ids=["good", "bad", "escapes", "line ends", "empty", "no text", "no JSON", "closed"],
)
def test_answer_is_printed_without_control_characters(
    answer: bytes, status: int, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with job(tmp_path / "s", answer):
        assert status == main(["drain", str(tmp_path / "s")])
    printed = capsys.readouterr()

    assert message in printed.out + printed.err
    assert (printed.out + printed.err).replace("\n", "").isprintable()


def test_job_without_an_answer_may_still_execute_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control, "ANSWER_SECONDS", 0.1)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s"))
        server.listen()
        assert 2 == main(["stop", str(tmp_path / "s"), "--deadline", "0.1"])

    assert "has not replied for 0.2 s and may still execute the command" in capsys.readouterr().err


def test_interrupt_ends_a_command_that_waits_without_a_traceback(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s"))
        server.listen()
        command = [sys.executable, "-m", "spark_rtm", "drain", str(tmp_path / "s")]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            connection, _ = server.accept()
            with connection:
                assert connection.recv(10_000)
                process.send_signal(signal.SIGINT)
                assert (b"", b"") == process.communicate(timeout=60)

    assert 130 == process.returncode


def _bind(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


def test_socket_without_a_job_is_named_with_a_remedy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "s"
    _bind(path)

    assert 2 == main(["commit", str(path)])
    assert f"no job is listening at {path}: Connection refused; start the job, or correct" in capsys.readouterr().err


def test_path_that_is_too_long_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / ("s" * 200)

    assert 2 == main(["commit", str(path)])
    assert f"no job is listening at {path}: AF_UNIX path too long" in capsys.readouterr().err
    with pytest.raises(OSError, match=r"AF_UNIX path too long: .*sss"), listen(NO_SPARK, path):
        pass


@pytest.mark.parametrize("deadline", ["nan", "inf", "0", "86401", "x", "9" * 5000])
def test_deadline_is_a_number_of_seconds_in_a_day(deadline: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["drain", f"--deadline={deadline}", "s"])
    assert f"{deadline[:99]!r} is not a number of seconds above 0 and up to 86,400" in capsys.readouterr().err


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"",
        b"\n",
        json.dumps(REQUEST).encode(),
        b"x" * 20_000,
        b"[" * 9_000 + b"\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"\xff\xfe\n",
        *(
            json.dumps(REQUEST | change).encode() + b"\n"
            for change in (
                {"command": "spark"},
                {"command": ["drain"]},
                {"query": 3},
                {"spark": None},
                {"deadline_seconds": float("nan")},
                {"deadline_seconds": float("inf")},
                {"deadline_seconds": 0},
                {"deadline_seconds": True},
                {"deadline_seconds": "5"},
                {"deadline_seconds": 1e20},
            )
        ),
        json.dumps({"command": "drain"}).encode() + b"\n",
    ],
)
def test_request_that_is_no_command_is_answered_and_not_executed(request_bytes: bytes, tmp_path: Path) -> None:
    """Without Spark, the execution of a command would end the thread without a reply."""
    with listen(NO_SPARK, tmp_path / "s"):
        answers = [json.loads(asked(tmp_path / "s", request_bytes)) for _ in range(2)]

    assert [[False], [False]] == [[one["ok"] for one in answer] for answer in answers]
    assert answers[0][0]["text"].startswith("this is not a command of `rtm`: ")


def test_request_that_arrives_slowly_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each byte arrives before its own timeout, but the complete line arrives too late."""
    monkeypatch.setattr(listener, "MAX_REQUEST_SECONDS", 0.5)
    with listen(NO_SPARK, tmp_path / "s"), socket.socket(socket.AF_UNIX) as client:
        client.connect(str(tmp_path / "s"))
        client.settimeout(0.1)
        answer = b""
        for _ in range(100):
            with suppress(BrokenPipeError):  # the job has replied and closed the connection
                client.sendall(b" ")
            try:
                answer = client.recv(10_000)
                break
            except TimeoutError:
                pass

    assert b"this is not a command" in answer


def test_hundred_clients_at_once_are_answered(tmp_path: Path) -> None:
    with listen(NO_SPARK, tmp_path / "s"), ThreadPoolExecutor(100) as clients:
        answers = list(clients.map(lambda _: asked(tmp_path / "s", b"{}\n"), range(100)))

    assert 1 == len(set(answers))
    assert b"this is not a command" in answers[0]


@pytest.mark.parametrize(
    "make", [Path.touch, Path.mkdir, lambda path: path.symlink_to("none")], ids=["file", "folder", "link"]
)
def test_file_that_is_not_a_socket_is_never_replaced(make: Callable[[Path], object], tmp_path: Path) -> None:
    path = tmp_path / "s"
    make(path)

    with pytest.raises(OSError, match=r"Address already in use: '.*s'"), listen(NO_SPARK, path):
        pass
    assert os.path.lexists(path)


def test_socket_of_an_ended_job_is_replaced_and_one_of_another_job_stays(tmp_path: Path) -> None:
    path, other = tmp_path / "s", tmp_path / "t"
    _bind(path)

    with listen(NO_SPARK, path):
        assert b"this is not a command" in asked(path, b"{}\n")
        _bind(other)
        other.replace(path)

    assert path.is_socket()
