import os
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.pack import files
from spark_rtm.services import java_home
from tests.pages.examples import spark_submit_of

pytestmark = pytest.mark.spark


def spark_submit(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `spark-submit` from the folder of this Python, as an activated environment would."""
    programs = Path(sys.executable).parent
    changed = {"JAVA_HOME": str(java_home()), "PYTHONPATH": ".", "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    command = [str(programs / "spark-submit"), *arguments]
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    return subprocess.run(
        command, cwd=files.ROOT, env=inherited | changed, text=True, capture_output=True, check=False, timeout=100
    )


def test_command_of_page_starts_the_pipeline() -> None:
    before, options = spark_submit_of("workers.md").split("examples/attribution/demo/__main__.py")
    arguments = before.replace('--jars "$JARS"', "").split()
    sent = arguments.index("--py-files")
    # Spark copies the archives before it starts the program; the tests of the cluster send them.
    arguments[sent : sent + 4] = []

    started = spark_submit(*arguments, "examples/attribution/demo/__main__.py", *options.split(), "--help")

    assert 0 == started.returncode, started.stderr
    assert "python -m examples.attribution.demo" in started.stdout


def test_standalone_cluster_refuses_python_driver() -> None:
    """A standalone cluster has no cluster mode for Python, so the supervisor must restart the driver."""
    submitted = spark_submit(
        "--master", "spark://host:7077", "--deploy-mode", "cluster", "examples/attribution/demo/__main__.py"
    )

    assert 0 != submitted.returncode
    assert "Cluster deploy mode is currently not supported for python applications" in submitted.stderr
