"""The commands of `references/first_job.md`, in an empty folder, through uvx: a user has nothing but uv and a clone."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from scripts.pack import files
from spark_rtm.text import markdown

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(1200)]

PAGE = (files.ROOT / "references/first_job.md").read_text(encoding="utf-8")
FENCES = markdown.fences(PAGE)
STEPS = [(one.code, two.code) for one, two in pairwise(FENCES) if (one.language, two.language) == ("bash", "text")]
"""Commands, and the output below them. A line of output ends with `...` where the page omits the rest."""
RESULTS_BEFORE_INTERRUPT = 3
PIP_TO_UV = {"index-url": "UV_DEFAULT_INDEX", "extra-index-url": "UV_INDEX", "find-links": "UV_FIND_LINKS"}
OF_THE_TESTS = re.compile(r"PYTHON|PYTEST|VIRTUAL_ENV|KAFKA_|UV_")


def _variables() -> dict[str, str]:
    """Return the environment of a user. uv gets pip's index and certificates, and the wheel that pip has built."""
    pip = [sys.executable, "-m", "pip"]
    config = subprocess.run([*pip, "config", "list"], capture_output=True, text=True, check=True).stdout
    settings = dict(re.findall(r"^\S*\.([\w-]+)='(.*)'$", config, re.MULTILINE))
    found = {name: settings[option] for option, name in PIP_TO_UV.items() if option in settings}
    command = [*pip, "cache", "list", "pyspark", "--format=abspath"]
    built = subprocess.run(command, capture_output=True, text=True, check=False).stdout.split()
    links = [found.get("UV_FIND_LINKS", ""), *(str(Path(wheel).parent) for wheel in built)]
    kept = {name: value for name, value in os.environ.items() if not OF_THE_TESTS.match(name)}
    certificates = {"SSL_CERT_FILE": settings["cert"]} if "cert" in settings else {}
    programs = f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}"
    own = {"UV_FIND_LINKS": ",".join(filter(None, links)), "UV_PYTHON_DOWNLOADS": "never", "PATH": programs}
    return {**kept, **found, **certificates, **own}


def _output(commands: str, folder: Path, variables: dict[str, str]) -> Iterator[str]:
    """Yield the lines that a step prints. A step that runs until Ctrl-C gets it after some results."""
    process = subprocess.Popen(
        ["bash", "-euc", commands],
        cwd=folder,
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    results = 0
    assert process.stdout
    try:
        for line in process.stdout:
            yield line
            results += bool(re.match(r" *[\d,]+ ms  ", line))
            if results == RESULTS_BEFORE_INTERRUPT:
                os.killpg(process.pid, signal.SIGINT)
                results += 1
        assert 0 == process.wait(60)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)


def _without_numbers(line: str) -> str:
    """Return the line with each measured number as `0`."""
    return " ".join(re.sub(r"\b\d[\d,.]*(?=s| ms| characters)", "0", line).split())


def _missing(expected: str, printed: list[str]) -> list[str]:
    found = [_without_numbers(line) for line in printed]
    starts = [_without_numbers(line).removesuffix(" ...") for line in expected.splitlines()]
    return [start for start in starts if not any(line.startswith(start) for line in found)]


def test_commands_of_the_page_print_what_it_shows(tmp_path: Path) -> None:
    variables = _variables()
    assert 4 == len(STEPS)
    for commands, expected in STEPS:
        text = re.sub(r"^export RTM=.*$", f"export RTM={files.ROOT}", commands, flags=re.MULTILINE)
        folder = tmp_path / "my-job" if (tmp_path / "my-job").is_dir() else tmp_path

        printed = list(_output(text, folder, variables))

        assert [] == _missing(expected, printed), "".join(printed)


def test_other_output_is_found() -> None:
    assert [] == _missing("good  2 passed in 3.1s ...\n", ["good 2 passed in 17.25s (0:00:17)\n"])
    assert ["good 2 passed in 0s"] == _missing("good  2 passed in 3.1s\n", ["good  3 passed in 3.1s\n"])
