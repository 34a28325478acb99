from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_rtm.services.scala import compiled, scala_object

pytestmark = pytest.mark.spark

SOURCE = "package {name}\nobject Greeting {{ def of(name: String): String = {body} }}\n"


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RTM_CACHE", str(tmp_path / "o'brien"))
    path = tmp_path / "greeting.scala"
    path.write_text(SOURCE.format(name="first", body='s"Hello $name"'))
    return path


@pytest.mark.timeout(200)
def test_only_changed_source_is_compiled_again(source: Path, spark: SparkSession) -> None:
    """The same text uses the existing jar, also below a quote; another text gets its own jar and its own behavior."""
    jar = compiled(source)
    written = jar.stat().st_mtime_ns
    first = scala_object(spark, source, "first.Greeting")

    source.write_text(SOURCE.format(name="second", body='s"Bye $name"'))
    second = scala_object(spark, source, "second.Greeting")

    assert ("Hello Ann", "Bye Ann") == (first.of("Ann"), second.of("Ann"))
    assert written == jar.stat().st_mtime_ns
    assert "o'brien" in jar.parts
    assert 2 == len(list(jar.parents[1].glob("*/*.jar")))


@pytest.mark.timeout(200)
def test_compile_error_names_file_and_line(source: Path, tmp_path: Path) -> None:
    source.write_text(SOURCE.format(name="third", body="42"))

    with pytest.raises(RuntimeError, match=r"greeting\.scala:2: error: type mismatch") as raised:
        compiled(source)

    assert "does not compile" in str(raised.value)
    assert [] == list(tmp_path.glob("*/scala/*/*.jar"))
