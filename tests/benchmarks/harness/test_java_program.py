"""The Java programs of the harness need a compiler."""

from pathlib import Path

import pytest

from examples.benchmarks.harness.java_program import SOURCES_DIR, compiled
from examples.services import broker_jars, java_home
from examples.services.java import packaged_java_home

pytestmark = pytest.mark.services


def test_java_without_compiler_is_refused_with_a_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Java runtime is enough for Spark and Kafka, but not for the load generator."""
    monkeypatch.setenv("JAVA_HOME", str(packaged_java_home()))
    jars = broker_jars()
    monkeypatch.setenv("RTM_CACHE", str(tmp_path))

    with pytest.raises(RuntimeError, match=f"the Java in {java_home()} has no compiler"):
        compiled(SOURCES_DIR / "Echo.java", jars)
