"""Name the topics that a query writes to, and those that do not exist in production."""

from collections.abc import Collection

from scripts.prove.subjects.subject import Subject
from scripts.prove.verdicts.failure import page_of
from scripts.prove.verdicts.verdict import GOOD, WRONG, Verdict

CONDITION = "UnknownTopicOrPartitionException"


def topics(subject: Subject, existing: Collection[str]) -> Verdict:
    """Return the verdict on the topics that the rows named; `existing` is empty if the user has not listed any."""
    named = sorted(subject.topics)
    if not named:
        return Verdict("topics", GOOD, "the rows have no column topic; the option topic of the sink names the topic")
    missing = [topic for topic in named if topic not in existing] if existing else []
    if not missing:
        listed = "" if existing else "; --topics compares them with the topics that exist in production"
        return Verdict("topics", GOOD, f"the rows name {', '.join(named)}{listed}")
    evidence = f"{CONDITION}: the rows name {', '.join(missing)}, which --topics does not list, so the query fails"
    fix = "create the topic before the query starts, or correct its name"
    return Verdict("topics", WRONG, evidence, fix, page_of(CONDITION), str(subject.path), subject.line)
