"""A cluster of real processes on one machine runs Spark jobs and ends with its block."""

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

import examples.services
from examples.services.cluster import CHECKOUT, standalone_cluster
from examples.services.java import java_home

RUN_JOB = """
import json, sys
from pyspark.sql import SparkSession

def describe(_):
    import examples
    return sys.executable, examples.__file__

session = (
    SparkSession.builder.master(sys.argv[1])
    .config("spark.driver.host", "127.0.0.1")
    .config("spark.executor.memory", "512m")
    .config("spark.ui.enabled", "false")
    .getOrCreate()
)
context = session.sparkContext
seen = context.parallelize(range(8), 8).map(describe).distinct().collect()
print(json.dumps({"slots": context.defaultParallelism, "seen": seen}))
session.stop()
"""


@pytest.mark.spark
def test_cluster_runs_a_job_on_all_slots_with_this_python() -> None:
    """A job finds all slots, this interpreter and the examples on the workers; afterwards the master is gone."""
    environment = {**os.environ, "JAVA_HOME": str(java_home()), "PYSPARK_PYTHON": sys.executable}

    with standalone_cluster(workers=2, cores_per_worker=2) as url:
        command = [sys.executable, "-c", RUN_JOB, url]
        answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=100)

    assert answer.returncode == 0, answer.stderr
    expected = {"slots": 4, "seen": [[sys.executable, str(CHECKOUT / "examples" / "__init__.py")]]}
    assert expected == json.loads(answer.stdout)
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(url.replace("spark://", "http://"), timeout=5)


def test_services_package_offers_what_it_lists() -> None:
    """Every name that the package promises can be imported from it."""
    offered = {name: getattr(examples.services, name) for name in examples.services.__all__}

    assert set(offered) == {
        name for name, value in offered.items() if value.__module__.startswith("examples.services.")
    }
    with pytest.raises(AttributeError, match="no_such_name"):
        examples.services.no_such_name  # noqa: B018
