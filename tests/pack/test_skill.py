"""The hard rules of SKILL.md do not forbid valid Databricks code, and do not allow code that OSS rejects."""

import pytest

from scripts.pack import files
from spark_rtm.lint.engine import lint_text
from spark_rtm.text import markdown
from spark_rtm.text.finding import DATABRICKS, OSS

KAFKA = 'spark.readStream.format("kafka").load()'
WRITE = '.writeStream.format("kafka").option("checkpointLocation", c).outputMode("update")'
WRITE += '.trigger(realTime="5 minutes").start()\n'
OSS_REFUSES = {
    "Kinesis": f'spark.readStream.format("kinesis").load(){WRITE}',
    "`rate`": f'spark.readStream.format("rate").load(){WRITE}',
    "Lakebase": f"{KAFKA}{WRITE}".replace('writeStream.format("kafka")', 'writeStream.format("postgresql")'),
    "udf": f'from pyspark.sql.functions import udf\n{KAFKA}.select(udf(len)("value")){WRITE}',
    "transformWithState": f'{KAFKA}.groupBy("key").transformWithState(p, "k int", "update", "ProcessingTime"){WRITE}',
    "stream-stream": f'{KAFKA}.join({KAFKA}, "key"){WRITE}',
}
BOTH_REFUSE = {
    "foreachBatch": f"{KAFKA}{WRITE}".replace('format("kafka").option', "foreachBatch(f).option"),
    "Delta": f'spark.readStream.format("delta").load(){WRITE}',
    "update": f"{KAFKA}{WRITE}".replace("update", "append"),
    "union": f'{KAFKA}.dropDuplicates(["key"]).union({KAFKA}){WRITE}',
    "broadcast": f'{KAFKA}.join(spark.read.parquet("/users"), "key"){WRITE}',
}


def rules(engine: str) -> str:
    text = (files.ROOT / files.SKILL).read_text(encoding="utf-8")
    [table] = [table for table in markdown.tables(text) if "rule" in table.header]
    return "\n".join(cells[1] for _, cells in table.rows if cells[0] == engine)


def is_refused(code: str, engine: str) -> bool:
    return any(finding.severity == "error" for finding in lint_text(code, "job.py", engine))


@pytest.mark.parametrize(("feature", "code"), {**OSS_REFUSES, **BOTH_REFUSE}.items())
def test_skill_refuses_on_databricks_what_both_engines_refuse(feature: str, code: str) -> None:
    engine, other = ("Databricks", "both") if feature in OSS_REFUSES else ("both", "Databricks")

    assert (True, engine == "both") == (is_refused(code, OSS), is_refused(code, DATABRICKS))
    assert feature in rules(engine)
    assert engine == "both" or feature not in rules(other)
