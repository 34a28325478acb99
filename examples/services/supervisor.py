"""
Run one command, and end the command with all its children when the parent process has ended.

The supervisor prints the process id of the command. Standard input is a pipe from the parent process. A message on the
pipe kills the command, and the end of the pipe stops the command. `child.py` runs this file with an isolated
interpreter, so the file imports only the standard library.
"""

import argparse
import os
import select
import signal
import subprocess
import sys
import threading
from pathlib import Path

PARENT_CHECK_SECONDS = 1.0
DRAIN_SECONDS = 10.0


def _signal_group(leader: int, number: int) -> None:
    try:
        os.killpg(leader, number)
    except (ProcessLookupError, PermissionError):
        # The group has ended. macOS reports "not permitted" for a group that contains only a zombie.
        return


def _parent_is_gone(parent: int) -> bool:
    """
    Block until the parent writes to the pipe, closes the pipe or dies; return False only if the parent wrote.

    The function also checks the parent process id, because a process forked from a dead parent can keep the pipe open.
    """
    while True:
        readable, _, _ = select.select([0], [], [], PARENT_CHECK_SECONDS)
        if readable:
            return not os.read(0, 16)
        if os.getppid() != parent:
            return True


def _end_with_parent(child: subprocess.Popen[bytes], parent: int, stop_signal: int, grace_seconds: float) -> None:
    if _parent_is_gone(parent):
        _signal_group(child.pid, stop_signal)
        try:
            child.wait(grace_seconds)
        except subprocess.TimeoutExpired:
            pass
        else:
            return
    _signal_group(child.pid, signal.SIGKILL)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--stop-signal", type=int, required=True)
    parser.add_argument("--grace-seconds", type=float, required=True)
    parser.add_argument("--user", type=int)
    parser.add_argument("--group", type=int)
    parser.add_argument("command", nargs="+")
    return parser.parse_args()


def _start(options: argparse.Namespace, inherited: int) -> subprocess.Popen[bytes]:
    with options.log.open("ab") as log:
        try:
            return subprocess.Popen(
                options.command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                pass_fds=(inherited,),
                process_group=0,
                user=options.user,
                group=options.group,
                extra_groups=None if options.user is None else [],
            )
        except OSError as error:
            log.write(f"{options.command[0]}: {error}\n".encode())
            raise SystemExit(127) from error


def main() -> int:
    """Run the command until it ends or the parent has ended; return its exit status, negative for a signal."""
    parent = os.getppid()
    options = _options()
    # Every descendant inherits the write end of this pipe, so the pipe closes when the last descendant has ended.
    all_ended, inherited = os.pipe()
    child = _start(options, inherited)
    os.close(inherited)
    print(child.pid, flush=True)
    arguments = (child, parent, options.stop_signal, options.grace_seconds)
    threading.Thread(target=_end_with_parent, args=arguments, daemon=True).start()
    status = child.wait()
    _signal_group(child.pid, signal.SIGKILL)
    select.select([all_ended], [], [], DRAIN_SECONDS)
    return status


if __name__ == "__main__":
    sys.exit(main())
