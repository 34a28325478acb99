"""Run a user's query in real-time mode against a Kafka broker, and report what breaks."""

from spark_rtm.program import Command
from spark_rtm.prove.arguments import DESCRIPTION, Arguments


def _run(arguments: Arguments) -> int:
    from spark_rtm.prove.command import run  # noqa: PLC0415

    return run(arguments)


COMMANDS = [
    Command(
        "prove",
        "run a function in real-time mode on a local broker and report problems",
        Arguments,
        _run,
        {
            "prove job.py:transform": "run the function and report what breaks",
            "prove job.py": "examine the queries that the unmodified job starts",
            "prove --samples payments=payments.jsonl job.py:transform": "with your own records",
        },
        DESCRIPTION,
        note="arguments of a job follow `--`: prove job.py -- --brokers x",
        extra="prove",
    )
]
