"""Name the topics that a query reads and writes, and those that do not exist in production."""

import re
from collections.abc import Collection

from spark_rtm.errors import page_of
from spark_rtm.prove.subjects.subject import Subject
from spark_rtm.prove.verdicts.failure import line_of_call
from spark_rtm.prove.verdicts.verdict import GOOD, WRONG, Verdict

CONDITION = "UnknownTopicOrPartitionException"


def topics(subject: Subject, existing: Collection[str]) -> Verdict:
    """Return the verdict on the topics of a query; `existing` is empty if the user has not listed any."""
    read, written = sorted(subject.reads), sorted(subject.topics)
    parts = [f"reads {', '.join(read)}"] if read else []
    parts += [f"writes {', '.join(written)}"] if written else []
    missing = [topic for topic in (*read, *written) if topic not in existing] if existing else []
    if not missing:
        listed = "--topics lists them" if existing else "prove creates them; --topics compares them with production"
        return Verdict("topics", GOOD, f"the query {' and '.join(parts)}; {listed}")
    evidence = f"{CONDITION}: {', '.join(missing)} is used, but --topics does not list it, so the query fails"
    fix = "create the topic before the query starts, or correct its name"
    line = line_of_call(subject.path, re.compile(rf"[\"']{re.escape(missing[0])}[\"']"), subject.line)
    return Verdict("topics", WRONG, evidence, fix, page_of(CONDITION), str(subject.path), line)
