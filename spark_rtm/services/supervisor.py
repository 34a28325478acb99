"""
Run one command, and end it with all its children when the parent process exits.

The supervisor prints the command's process id, and its standard error is the command's log. Standard input is a pipe
from the parent process. The message `kill` on the pipe kills the command; any other message and the end of the pipe
stop it. `child.py` runs this file with an isolated interpreter, so the file imports only the standard library.
"""

import argparse
import fcntl
import os
import select
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

KILL = b"kill"
PARENT_CHECK_SECONDS = 1.0
GROUP_CHECK_SECONDS = 0.05
DRAIN_SECONDS = 10.0


def _signal_group(leader: int, number: int) -> bool:
    """Send a signal to the group, and return whether the group still exists."""
    try:
        os.killpg(leader, number)
    except (ProcessLookupError, PermissionError):
        # The group has ended. macOS reports "not permitted" for a group that contains only a zombie.
        return False
    return True


def _end_group(leader: int, stop_signal: int, grace_seconds: float) -> None:
    """Stop processes that the leader has left behind, such as a JVM, whose shutdown hooks delete its files."""
    deadline, pause = time.monotonic() + grace_seconds, threading.Event()
    exists = _signal_group(leader, stop_signal)
    while exists and time.monotonic() < deadline:
        pause.wait(GROUP_CHECK_SECONDS)
        exists = _signal_group(leader, 0)
    _signal_group(leader, signal.SIGKILL)


def _message_of_parent(parent: int) -> bytes:
    """
    Return the parent's next message, or an empty one after its death.

    The function also checks the parent process id, because a process forked from a dead parent can keep the pipe open.
    """
    while True:
        readable, _, _ = select.select([0], [], [], PARENT_CHECK_SECONDS)
        if readable:
            return os.read(0, 16)
        if os.getppid() != parent:
            return b""


def _end_on_message(child: subprocess.Popen[bytes], parent: int, options: argparse.Namespace) -> None:
    if _message_of_parent(parent) != KILL:
        _signal_group(child.pid, options.stop_signal)
        try:
            child.wait(options.grace_seconds)
        except subprocess.TimeoutExpired:
            pass
        else:
            return
    _signal_group(child.pid, signal.SIGKILL)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run-folder", type=Path, required=True)
    parser.add_argument("--stop-signal", type=int, required=True)
    parser.add_argument("--grace-seconds", type=float, required=True)
    parser.add_argument("--user", type=int)
    parser.add_argument("--group", type=int)
    parser.add_argument("command", nargs="+")
    return parser.parse_args()


def _start(options: argparse.Namespace, inherited: int) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            options.command,
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr.fileno(),
            pass_fds=(inherited,),
            process_group=0,
            user=options.user,
            group=options.group,
            extra_groups=None if options.user is None else [],
        )
    except OSError as error:
        raise SystemExit(f"{options.command[0]}: {error}") from error


def main() -> int:
    """Run the command until it or its parent exits. Return its exit status, which is negative for a signal."""
    parent = os.getppid()
    options = _options()
    lock = os.open(options.run_folder, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(lock, fcntl.LOCK_SH)
    # Every descendant inherits the write end of this pipe, so the pipe closes when the last descendant has ended.
    all_ended, inherited = os.pipe()
    child = _start(options, inherited)
    os.close(inherited)
    print(child.pid, flush=True)
    threading.Thread(target=_end_on_message, args=(child, parent, options), daemon=True).start()
    status = child.wait()
    _end_group(child.pid, options.stop_signal, options.grace_seconds)
    select.select([all_ended], [], [], DRAIN_SECONDS)
    return status


if __name__ == "__main__":
    sys.exit(main())
