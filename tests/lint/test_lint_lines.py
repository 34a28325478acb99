"""The line that a finding names: in a statement of several lines, it is the one that a user edits."""

import pytest

from spark_rtm.lint.engine import RULES, lint_text
from tests.lint.test_lint_cases import expected

SOURCE = 'rows = spark.readStream.format("kafka").option("subscribe", "e").load().select("key", "value")\n'
JOB = "from pyspark.sql import SparkSession\nspark = SparkSession.builder.getOrCreate()\n"
RUN = 'rows.writeStream.format("console").outputMode("update").trigger(realTime="5 minutes").start()\n'
LIVE = '    .outputMode("update")\n    .trigger(realTime="5 minutes")\n'
STATEFUL = 'rows = (\n    rows.select("key")\n    .dropDuplicates(["key"]){mark}\n)\n'
PROGRAMS = {
    "output-mode": SOURCE
    + '(\n    rows.writeStream.format("console")\n    .trigger(realTime="5 minutes")\n'
    + "    .start()  # expect: output-mode\n)",
    "checkpoint": SOURCE
    + '(\n    rows.writeStream.format("kafka")\n    .option("topic", "o")\n'
    + LIVE
    + "    .start()  # expect: checkpoint\n)",
    "shuffle-partitions": JOB + SOURCE + STATEFUL.replace("{mark}", "  # expect: shuffle-partitions") + RUN,
    "shuffle-partitions, high": JOB
    + 'spark.conf.set(\n    "spark.sql.shuffle.partitions", "8"\n)\n'
    + 'spark.conf.set("spark.sql.shuffle.partitions", "128")  # expect: shuffle-partitions\n'
    + SOURCE
    + STATEFUL.replace("{mark}", "")
    + RUN,
    "kafka-columns": JOB
    + SOURCE.replace('.select("key", "value")', "")
    + '(\n    rows.where("value IS NOT NULL")\n    .writeStream  # expect: kafka-columns\n    .format("kafka")\n'
    + '    .option("topic", "o")\n    .option("checkpointLocation", "/c")\n'
    + LIVE
    + "    .start()\n)",
    "checkpoint-path": JOB
    + 'sink = {\n    "topic": "o",\n    "checkpointLocation": "state",  # expect: checkpoint-path\n}\n'
    + SOURCE
    + '(\n    rows.writeStream.format("kafka")\n    .options(**sink)\n'
    + LIVE
    + "    .start()\n)",
    "async-state": SOURCE
    + 'tracking = {"topic": "o"}\n'
    + 'tracking["asyncProgressTrackingEnabled"] = "true"  # expect: async-state\n'
    + STATEFUL.replace("{mark}", "")
    + '(\n    rows.writeStream.format("kafka")\n    .options(**tracking)\n    .outputMode("update")\n    .start()\n)',
    "continuous-operator": SOURCE
    + 'rows = (\n    rows.select("key")\n    .groupBy("key")\n    .count()  # expect: continuous-operator\n)\n'
    + 'rows.writeStream.format("console").trigger(continuous="1 second").start()',
    "union-after-state": SOURCE
    + STATEFUL.replace("{mark}", "")
    + SOURCE.replace("rows =", "others =")
    + 'rows = (\n    rows\n    .union(others)  # expect: union-after-state\n    .select("key")\n)\n'
    + RUN,
    "python-udf": SOURCE
    + 'from pyspark.sql.functions import udf\n\n\n@udf("string")\ndef shout(text):\n    return text.upper()\n\n\n'
    + 'rows = rows.select(\n    "key",\n    shout("value"),  # expect: python-udf\n)\n'
    + RUN,
}
"""Programs with one fault each, by the rule and the case that they show."""
DEFINITION = "resources:\n  clusters:\n    live:\n      cluster_name: ads-rtm{name}\n      num_workers: 4\n{confs}"
CONFS = '      spark_conf:{mark}\n        spark.sql.shuffle.partitions: "8"\n'


@pytest.mark.parametrize("code", PROGRAMS.values(), ids=PROGRAMS)
def test_finding_names_the_line_that_a_user_edits(code: str) -> None:
    """In statements of several lines, exactly the marked line is reported."""
    findings = [(finding.line, finding.rule) for finding in lint_text(code, "job.py")]

    assert list(expected(code)) == findings


@pytest.mark.parametrize(
    "text",
    [
        DEFINITION.format(name="  # expect: cluster-flag", confs=""),
        DEFINITION.format(name="", confs=CONFS.format(mark="  # expect: cluster-flag")),
    ],
    ids=["name", "settings"],
)
def test_missing_flag_is_reported_at_the_settings_or_the_name(text: str) -> None:
    """A cluster without the flag is reported at its Spark settings, or at its name if it has none."""
    assert list(expected(text)) == [(finding.line, finding.rule) for finding in lint_text(text, "cluster.yaml")]


@pytest.mark.parametrize("name", ["rtm", "ads-rtm", "real-time mode", "realtime_mode"])
def test_name_marks_a_cluster_for_real_time_mode(name: str) -> None:
    """The word `rtm`, or real-time with the word mode, is a name for real-time mode."""
    assert ["cluster-flag"] == _rules(name)


@pytest.mark.parametrize("name", ["realtime", "real-time-dashboard", "artmaker", "cartms"])
def test_other_name_marks_no_cluster(name: str) -> None:
    """`realtime` alone is the name of many things."""
    assert _rules(name) == []


def test_rule_about_code_or_clusters_states_its_line() -> None:
    """The section of each rule, except those about text, states the line of its findings."""
    assert [rule.id for rule in RULES if rule.subject != "page" and not rule.reported_at] == []


@pytest.mark.parametrize("name", ["job.py", "Job.scala", "Job.java"])
@pytest.mark.parametrize("line", ["", "// spark\n"])
def test_chain_of_another_library_has_no_finding(name: str, line: str) -> None:
    """Methods with the names of Spark's writer are no finding in a file that uses nothing of Spark."""
    trigger = 'realTime="1 ms"' if name == "job.py" else 'Trigger.RealTime("1 ms")'
    comment = line.replace("//", "#") if name == "job.py" else line
    chain = f'hub.stream("a").format("delta").outputMode("append").trigger({trigger}).start()'
    code = chain if name == "job.py" else f"class Job {{ void run(Hub hub) {{ {chain}; }} }}"

    assert lint_text(f"{comment}{code}\n", name) == []


def test_same_chain_of_spark_has_findings() -> None:
    """The chain is reported as soon as it begins with `writeStream`."""
    code = 'hub.writeStream.format("delta").outputMode("append").trigger(realTime="1 ms").start()\n'

    assert {"output-mode", "sink", "trigger-interval"} == {finding.rule for finding in lint_text(code, "job.py")}


def _rules(name: str) -> list[str]:
    text = f'{{"cluster_name": "{name}", "spark_version": "17.3.x-scala2.13", "num_workers": 4, "x": "rtm"}}'
    return [finding.rule for finding in lint_text(text, "cluster.json")]
