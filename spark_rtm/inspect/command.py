"""The command `inspect`: its options, its report and its exit status."""

import argparse
import json
import time
from pathlib import Path

from spark_rtm.inspect.broker import Connection
from spark_rtm.inspect.files.folder import UnreadableError
from spark_rtm.inspect.inspection import inspect, starting_offsets
from spark_rtm.inspect.report import render

DESCRIPTION = """Read the checkpoint of a streaming query and explain it. Nothing is changed.

exit status:
  0  the checkpoint was inspected and nothing is wrong
  1  the checkpoint was inspected and something is wrong (a line that begins with `problem`)
  2  the folder is not a checkpoint, is damaged or cannot be read, or a usage error"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `inspect`."""
    parser.description = DESCRIPTION
    parser.add_argument(
        "checkpoint",
        help="value of checkpointLocation: a folder, or a URL that fsspec supports, such as s3://bucket/path",
    )
    parser.add_argument(
        "--bootstrap-servers",
        metavar="HOST:PORT",
        help="Kafka brokers, which report the lag, stuck partitions and the replay of a restart",
    )
    parser.add_argument(
        "--command-config",
        type=Path,
        metavar="FILE",
        help="properties of the Kafka client (librdkafka) for TLS and login, one key=value per line",
    )
    parser.add_argument(
        "--as-starting-offsets",
        action="store_true",
        help="print only startingOffsets as JSON for a new query that continues here; one line for each Kafka source",
    )
    parser.add_argument(
        "--format", choices=("text", "json"), default="text", help="format of the report (default: text)"
    )


def run(options: argparse.Namespace) -> int:
    """Inspect a checkpoint, print the result to standard output, and return the exit status."""
    servers = options.bootstrap_servers
    if options.command_config and not servers:
        return int(
            options.program.wrong("--command-config has no effect without --bootstrap-servers; add --bootstrap-servers")
        )
    kafka = Connection(servers, options.command_config) if servers else None
    try:
        if options.as_starting_offsets:
            print("\n".join(starting_offsets(options.checkpoint, kafka)))
            return 0
        report = inspect(options.checkpoint, kafka)
    except UnreadableError as error:
        return int(options.program.wrong(str(error)))
    print(json.dumps(report.content(), indent=2) if options.format == "json" else render(report, time.time()))
    return 1 if report.has_problem else 0
