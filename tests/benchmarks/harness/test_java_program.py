"""The Java programs of the harness need a compiler, and load the classes of Kafka from the archive of the broker."""

import os
import subprocess
from pathlib import Path

import pytest

from benchmarks.harness.java_program import SOURCES_DIR, client_command, compiled
from spark_rtm.services import broker_jars, java_home
from spark_rtm.services.java import packaged_java_home

pytestmark = pytest.mark.services


def test_java_without_compiler_is_refused_with_a_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Java runtime is enough for Spark and Kafka, but not for the load generator."""
    monkeypatch.setenv("JAVA_HOME", str(packaged_java_home()))
    jars = broker_jars()
    monkeypatch.setenv("RTM_CACHE", str(tmp_path))

    with pytest.raises(RuntimeError, match=f"the Java in {java_home()} has no compiler"):
        compiled(SOURCES_DIR / "Echo.java", jars)


def test_client_loads_classes_from_the_archive_of_the_broker() -> None:
    """With `-Xshare:on`, a JVM that cannot use its archive does not start, for example with another class path."""
    command = client_command("Echo", [], ["-Xshare:on"])
    place = command.index("-cp") + 1
    *jars, classes = command[place].split(os.pathsep)
    other = [*command[:place], os.pathsep.join([classes, *jars]), *command[place + 1 :]]

    errors = [subprocess.run(each, capture_output=True, text=True, check=False).stderr for each in (command, other)]

    assert "at Echo.main" in errors[0]  # it started, and failed because it got no arguments
    assert "shared class paths mismatch" in errors[1]
