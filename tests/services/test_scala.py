from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_rtm.services.scala import compiled, scala_object

pytestmark = pytest.mark.spark

GREETING = 'package first\nobject Greeting { def of(name: String): String = s"Hello $name" }\n'


@pytest.mark.timeout(200)
def test_only_changed_text_is_recompiled(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same text uses the existing jar, also below a quote. The error of another text names the file and line."""
    monkeypatch.setenv("RTM_CACHE", str(tmp_path / "o'brien"))
    source = tmp_path / "greeting.scala"
    source.write_text(GREETING)
    jar = compiled(source)
    written = jar.stat().st_mtime_ns

    assert "Hello Ann" == scala_object(spark, source, "first.Greeting").of("Ann")
    assert written == jar.stat().st_mtime_ns
    assert "o'brien" in jar.parts

    source.write_text(GREETING.replace('s"Hello $name"', "42"))
    with pytest.raises(RuntimeError, match=r"greeting\.scala:2: error: type mismatch") as raised:
        compiled(source)
    assert "does not compile" in str(raised.value)
    assert [jar] == list(tmp_path.glob("*/scala/*/*.jar"))
