"""
Grade the answer to a question by code, and ask an assistant which of several skills a prompt needs.

Only the last line that begins with `ANSWER:` counts, so an explanation may mention wrong answers. Patterns are searched
in this line, in lower case and without Markdown. The other skills are made up, so "none of them" is not the only
alternative to this skill.
"""

import re
from collections.abc import Iterable, Iterator

from evals.items import Question, Trigger, Verdict
from scripts.pack import files

INSTRUCTION = "\n\nFinish with one line that begins with `ANSWER:` and states the answer in at most 30 words."
_ANSWER = re.compile(r"^[\s>*_#-]*answer\s*[*_]*\s*:[*_\s]*(.+)$", re.IGNORECASE | re.MULTILINE)
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w])")

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


def answer_line(reply: str) -> str | None:
    """Return the normalized text of the last `ANSWER:` line, or None."""
    found = _ANSWER.findall(reply)
    if not found:
        return None
    text = found[-1].lower().replace("\u2019", "'")
    # Keep apostrophes inside words, such as "doesn't".
    text = re.sub(r"[`*\"\u201c\u201d]|(?<!\w)'|'(?!\w)", "", text)
    return " ".join(re.sub(r"(?<=\d),(?=\d{3}\b)", "", text).split())


def grade(item: Question | Trigger, reply: str) -> Verdict:
    """Return the verdict on the answer to a question, or on the choice of a skill."""
    line = answer_line(reply)
    if line is None:
        reason = "the reply has no line `ANSWER: ...`"
    elif isinstance(item, Trigger):
        reason = _grade_trigger(item, line)
    else:
        reason = _wrong_number(item, line) or _wrong_text(item, line)
        reason += f" in {line!r}" if reason else ""
    return Verdict(item.name, is_right=not reason, reason=reason)


def broken_questions(questions: Iterable[Question]) -> Iterator[str]:
    """Yield a message for each right answer graded as wrong, and for each wrong answer graded as right."""
    for question in questions:
        answers = {question.expected_output: True, **dict.fromkeys(question.wrong_answers, False)}
        for answer, is_right in answers.items():
            verdict = grade(question, f"ANSWER: {answer}")
            if verdict.is_right != is_right:
                yield f"{question.name}: {answer!r} is graded as {'right' if verdict.is_right else 'wrong'}"


def _wrong_number(question: Question, line: str) -> str:
    if "number" not in question.grade:
        return ""
    numbers = [float(number) for number in _NUMBER.findall(line)]
    # "18 (8 + 4 + 6)" and "8 + 4 + 6 = 18" are also answers.
    after = [float(number) for number in re.findall(r"= ?(\d+(?:\.\d+)?)", line)]
    found = (after or numbers)[:1]
    return "" if found == [question.grade["number"]] else f"the number is not {question.grade['number']}"


def _wrong_text(question: Question, line: str) -> str:
    for pattern in question.grade.get("required", ()):
        if not re.search(pattern, line):
            return f"nothing matches {pattern!r}"
    for pattern in question.grade.get("forbidden", ()):
        if re.search(pattern, line):
            return f"the forbidden pattern {pattern!r} matches"
    return ""


def skill() -> tuple[str, str]:
    """Return the name and the description of this skill."""
    found = files.frontmatter(files.ROOT)
    return found["name"], found["description"]


def trigger_prompt(trigger: Trigger) -> str:
    """Return the question that asks the assistant which skill a prompt needs."""
    name, description = skill()
    skills = sorted({**NEIGHBOURS, name: description}.items())
    listed = "\n".join(f"- {skill_name}: {text}" for skill_name, text in skills)
    return (
        f"These skills are installed:\n{listed}\n\nA user writes:\n{trigger.prompt}\n\n"
        f"Which one of these skills would you load before you answer? Do not answer the user. "
        f"Reply with one line: `ANSWER:` and the name of the skill, or `ANSWER: {NONE}`."
    )


def _grade_trigger(trigger: Trigger, line: str) -> str:
    chosen = line.rstrip(". ")
    reason = "should load the skill" if trigger.should_trigger else "should not load the skill"
    return "" if (chosen == skill()[0]) == trigger.should_trigger else f"{reason}, but chose {chosen!r}"
