"""
Read the checkpoint of a streaming query without changing it.

`mode` finds the execution mode that wrote the checkpoint. `next_mode` finds the modes in which a query can resume from
the checkpoint. `findings` reports problems.
"""

from spark_rtm.inspect.arguments import DESCRIPTION, Options
from spark_rtm.program import Command


def _run(options: Options) -> int:
    from spark_rtm.inspect.command import run  # noqa: PLC0415

    return run(options)


COMMANDS = [
    Command(
        "inspect",
        "explain the checkpoint of a streaming query without changing it",
        Options,
        _run,
        {
            "inspect checkpoints/clicks": "explain a checkpoint",
            "inspect s3://bucket/clicks --format json": "print the report of a remote checkpoint as JSON",
            "inspect checkpoints/clicks --bootstrap-servers host:9092": "compare with Kafka",
            "inspect checkpoints/clicks --as-starting-offsets": "continue with a new query",
        },
        DESCRIPTION,
    )
]
