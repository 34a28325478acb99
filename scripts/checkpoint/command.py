"""Run the command `inspect`: print the report, and return the exit status."""

import argparse
import json
import sys
import time

from scripts.checkpoint import text
from scripts.checkpoint.files.folder import UnreadableError
from scripts.checkpoint.inspection import inspect, starting_offsets


def run(options: argparse.Namespace) -> int:
    """Inspect a checkpoint, print the result to standard output, and return the exit status."""
    try:
        if options.as_starting_offsets:
            print("\n".join(starting_offsets(options.checkpoint, options.bootstrap_servers)))
            return 0
        report = inspect(options.checkpoint, options.bootstrap_servers)
    except UnreadableError as error:
        print(f"skills.py: {error}", file=sys.stderr)
        return 2
    print(json.dumps(report.content(), indent=2) if options.format == "json" else text.render(report, time.time()))
    return 1 if report.has_problem else 0
