import os
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.pack import files
from spark_rtm.services import java_home


@pytest.mark.spark
def test_standalone_cluster_refuses_python_driver() -> None:
    """A standalone cluster has no cluster mode for Python, so the supervisor must restart the driver."""
    programs, demo = Path(sys.executable).parent, "examples/attribution/demo/__main__.py"
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    environment |= {"JAVA_HOME": str(java_home()), "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}

    submitted = subprocess.run(
        [str(programs / "spark-submit"), "--master", "spark://host:7077", "--deploy-mode", "cluster", demo],
        cwd=files.ROOT, env=environment, text=True, capture_output=True, check=False, timeout=100,
    )  # fmt: skip

    assert 0 != submitted.returncode
    assert "Cluster deploy mode is currently not supported for python applications" in submitted.stderr
