import os
import re
import subprocess

import pytest

from scripts.pack.files import ROOT

TARGETS = set(re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
FIRST = {"quickstart", "demo", "check", "test", "generate", "help-all"}


@pytest.mark.parametrize(("command", "listed"), [((), FIRST), (("help-all",), TARGETS)], ids=["make", "make help-all"])
def test_list_of_commands_fits_into_120_columns(command: tuple[str, ...], listed: set[str]) -> None:
    # `make test` passes its own options to the programs that it starts.
    outside = {name: text for name, text in os.environ.items() if not name.startswith("MAKE")}
    done = subprocess.run(["make", *command], cwd=ROOT, env=outside, capture_output=True, text=True, check=True)
    shown = done.stdout.splitlines()

    assert listed == {line.split()[1] for line in shown if line.startswith("make ")}
    assert [] == [line for line in shown if len(line) > 120]
    assert command or len(listed) == len(shown)
