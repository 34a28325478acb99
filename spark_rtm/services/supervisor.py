"""
Run one command, and stop the command and all its children when the parent process exits.

The supervisor prints the command's process id, and its standard error is the command's log. Standard input is a pipe
from the parent process. The message `kill` on the pipe kills the command. Any other message, or the end of the pipe,
stops the command. `child.py` runs this file with an isolated interpreter, so the file imports only the standard
library.
"""

import fcntl
import os
import select
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

PROCESSES = Path("/proc")  # macOS lacks this folder
ENDED = (b"Z", b"X")
"""Process states of ended processes."""
KILL = b"kill"
PARENT_CHECK_SECONDS = 1.0
GROUP_CHECK_SECONDS = 0.05
DRAIN_SECONDS = 10.0


def _signal_group(leader: int, number: int) -> bool:
    """Send a signal to the leader's process group, and return whether the group still exists."""
    try:
        os.killpg(leader, number)
    except (ProcessLookupError, PermissionError):
        # The group has ended. macOS reports "not permitted" for a group that contains only a zombie.
        return False
    return True


def _is_alive(leader: int) -> bool:
    """
    Return whether any process in the leader's group is running.

    An ended process stays in the group until its new parent reads its exit status. A container's init process may never
    read it.
    """
    if not PROCESSES.is_dir():
        return _signal_group(leader, 0)
    for status in PROCESSES.glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, group = status.read_bytes().rpartition(b") ")[2].split()[:3]
            if int(group) == leader and state not in ENDED:
                return True
    return False


def _end_group(leader: int, stop_signal: int, grace_seconds: float) -> None:
    """Stop processes that the leader has left behind, such as a JVM whose shutdown hooks delete files."""
    deadline, pause = time.monotonic() + grace_seconds, threading.Event()
    exists = _signal_group(leader, stop_signal)
    while exists and time.monotonic() < deadline:
        pause.wait(GROUP_CHECK_SECONDS)
        exists = _is_alive(leader)
    _signal_group(leader, signal.SIGKILL)


def _message_of_parent(parent: int) -> bytes:
    """Return the parent's next message, or b"" after the parent has exited, even if its fork keeps the pipe open."""
    while True:
        readable, _, _ = select.select([0], [], [], PARENT_CHECK_SECONDS)
        if readable:
            return os.read(0, 16)
        if os.getppid() != parent:
            return b""


def _end_on_message(child: subprocess.Popen[bytes], parent: int, stop_signal: int, grace_seconds: float) -> None:
    if _message_of_parent(parent) != KILL:
        _signal_group(child.pid, stop_signal)
        try:
            child.wait(grace_seconds)
        except subprocess.TimeoutExpired:
            pass
        else:
            return
    _signal_group(child.pid, signal.SIGKILL)


def _start(command: list[str], inherited: int, ids: list[int]) -> subprocess.Popen[bytes]:
    user, group = ids or (None, None)
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr.fileno(),
            pass_fds=(inherited,),
            process_group=0,
            user=user,
            group=group,
            extra_groups=[] if ids else None,
        )
    except OSError as error:
        raise SystemExit(f"{command[0]}: {error}") from error


def main() -> int:
    """
    Run the command until it or its parent exits. Return the command's exit status, which is negative for a signal.

    The arguments are the run folder, the stop signal, the grace period in seconds, optionally the command's user id and
    group id, `--`, and the command.
    """
    parent = os.getppid()
    separator = sys.argv.index("--")
    run_folder, stop_signal, grace_seconds, *ids = sys.argv[1:separator]
    limits = int(stop_signal), float(grace_seconds)
    lock = os.open(run_folder, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(lock, fcntl.LOCK_SH)
    # Every descendant inherits the write end of this pipe, so the pipe closes when the last descendant has ended.
    all_ended, inherited = os.pipe()
    child = _start(sys.argv[separator + 1 :], inherited, [int(text) for text in ids])
    os.close(inherited)
    print(child.pid, flush=True)
    threading.Thread(target=_end_on_message, args=(child, parent, *limits), daemon=True).start()
    status = child.wait()
    _end_group(child.pid, *limits)
    select.select([all_ended], [], [], DRAIN_SECONDS)
    return status


if __name__ == "__main__":
    sys.exit(main())
