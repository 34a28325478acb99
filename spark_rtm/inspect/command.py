"""Run the command `inspect`: print the report, and return the exit status."""

import argparse
import json
import time

from spark_rtm.inspect import text
from spark_rtm.inspect.broker import Connection
from spark_rtm.inspect.files.folder import UnreadableError
from spark_rtm.inspect.inspection import inspect, starting_offsets


def run(options: argparse.Namespace) -> int:
    """Inspect a checkpoint, print the result to standard output, and return the exit status."""
    servers = options.bootstrap_servers
    if options.command_config and not servers:
        return int(options.program.wrong("--command-config has no effect without --bootstrap-servers; add it"))
    kafka = Connection(servers, options.command_config) if servers else None
    try:
        if options.as_starting_offsets:
            print("\n".join(starting_offsets(options.checkpoint, kafka)))
            return 0
        report = inspect(options.checkpoint, kafka)
    except UnreadableError as error:
        return int(options.program.wrong(str(error)))
    print(json.dumps(report.content(), indent=2) if options.format == "json" else text.render(report, time.time()))
    return 1 if report.has_problem else 0
