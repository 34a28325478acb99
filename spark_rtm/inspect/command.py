"""Run `inspect`: print its report and return its exit status."""

import json
import time

from spark_rtm.inspect import Options
from spark_rtm.inspect.broker import Connection
from spark_rtm.inspect.files.folder import UnreadableError
from spark_rtm.inspect.inspection import inspect, starting_offsets
from spark_rtm.inspect.report import render
from spark_rtm.program import UsageError


def run(options: Options) -> int:
    """Inspect a checkpoint, print the result to standard output, and return the exit status."""
    servers = options.bootstrap_servers
    if options.command_config and not servers:
        raise UsageError("--command-config has no effect without --bootstrap-servers; add --bootstrap-servers")
    kafka = Connection(servers, options.command_config) if servers else None
    try:
        if options.as_starting_offsets:
            print("\n".join(starting_offsets(options.checkpoint, kafka)))
            return 0
        report = inspect(options.checkpoint, kafka)
    except UnreadableError as error:
        raise UsageError(str(error)) from error
    print(json.dumps(report.content(), indent=2) if options.format == "json" else render(report, time.time()))
    return 1 if report.has_problem else 0
