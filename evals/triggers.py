"""
Ask which of several skills a prompt needs.

The other skills are invented, so "none of them" is not the only alternative.
"""

from evals.grading import answer_line
from evals.items import Trigger, Verdict
from scripts.pack import files
from spark_rtm.text.frontmatter import read_frontmatter

NEIGHBOURS = {
    "kafka-administration": "Create, resize and secure Kafka topics and clusters: brokers, ACLs, quotas, rebalancing, "
    "retention, consumer groups, Kafka Connect and MirrorMaker.",
    "lakehouse-pipelines": "Batch and micro-batch ETL with Spark and Delta Lake: Auto Loader, medallion tables, MERGE, "
    "OPTIMIZE, availableNow, processingTime and foreachBatch pipelines, Lakeflow tables, SQL dashboards.",
    "flink-jobs": "Write and operate Apache Flink jobs: DataStream and Table API, checkpoints, savepoints, Flink SQL.",
    "postgres-performance": "Tune PostgreSQL: slow queries, indexes, vacuum, connection pools, partitioned tables.",
    "pandas-analysis": "Analyse data with pandas and notebooks: cleaning, joins, plots, CSV and Excel files.",
}
"""Descriptions of other skills, by name."""
NONE = "none"


def skill() -> tuple[str, str]:
    """Return the name and the description of this skill."""
    found = read_frontmatter((files.ROOT / files.SKILL).read_text(encoding="utf-8"))
    return found["name"], found["description"]


def prompt(trigger: Trigger) -> str:
    """Return the question for the assistant."""
    name, description = skill()
    skills = sorted({**NEIGHBOURS, name: description}.items())
    listed = "\n".join(f"- {skill_name}: {text}" for skill_name, text in skills)
    return (
        f"These skills are installed:\n{listed}\n\nA user writes:\n{trigger.query}\n\n"
        f"Which one of these skills would you load before you answer? Do not answer the user. "
        f"Reply with one line: `ANSWER:` and the name of the skill, or `ANSWER: {NONE}`."
    )


def grade(trigger: Trigger, reply: str) -> Verdict:
    """Return the verdict on an assistant's choice."""
    line, name = answer_line(reply), skill()[0]
    if line is None:
        return Verdict(trigger.name, is_right=False, reason="the reply has no line `ANSWER: ...`")
    chosen = line.rstrip(". ")
    reason = "should load the skill" if trigger.should_trigger else "should not load the skill"
    is_right = (chosen == name) == trigger.should_trigger
    return Verdict(trigger.name, is_right=is_right, reason="" if is_right else f"{reason}, but chose {chosen!r}")
