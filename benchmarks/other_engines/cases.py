"""The compared engines, and their cases in each of the three measurements."""

from collections.abc import Sequence
from dataclasses import replace

from benchmarks.harness.baseline import baseline_case
from benchmarks.harness.run import Case
from benchmarks.harness.workloads import Workload
from benchmarks.other_engines.engine import OtherEngine
from benchmarks.other_engines.flink import FLINK
from benchmarks.other_engines.kafka_streams import KAFKA_STREAMS
from benchmarks.other_engines.quix import QUIX
from benchmarks.spark.variants import recommended, spark_case, two_copies

OTHER_ENGINES = (KAFKA_STREAMS, FLINK, QUIX)
LONG_INTERVAL_ENGINES = (KAFKA_STREAMS, FLINK)
"""Engines that are also measured with a commit interval of minutes."""
LONG_INTERVAL_BOUNDARIES = 2
WORKLOADS: tuple[Workload, ...] = ("stateless", "stateful")


def engine_cases(engines: Sequence[OtherEngine], interval_seconds: float, *, quick: bool = False) -> list[Case]:
    """Return the baseline case, for each workload the cases of all engines, and the case with two copies."""
    real_time = recommended(interval_seconds, quick=quick)
    cases = [baseline_case()]
    for workload in WORKLOADS:
        cases += [engine.case(workload, interval_seconds) for engine in engines]
        cases.append(spark_case("real-time", workload, real_time))
    return [*cases, spark_case("real-time, two copies", "stateful", two_copies(real_time))]


def long_interval_cases(engines: Sequence[OtherEngine], interval_seconds: float) -> list[Case]:
    """Return the baseline case, and the stateful cases of real-time mode and some other engines."""
    real_time = spark_case("real-time", "stateful", recommended(interval_seconds))
    others = [engine.case("stateful", interval_seconds) for engine in engines if engine in LONG_INTERVAL_ENGINES]
    return [baseline_case(), replace(real_time, min_boundaries=LONG_INTERVAL_BOUNDARIES), *others]


def limit_cases(engines: Sequence[OtherEngine], interval_seconds: float) -> list[Case]:
    """Return the cases for the search of the highest rate: all but the baseline and the two copies."""
    return engine_cases(engines, interval_seconds, quick=True)[1:-1]


def describe(engines: Sequence[OtherEngine]) -> list[dict[str, str]]:
    """Return the packages of each engine."""
    return [{"engine": engine.name, "packages": ", ".join(engine.packages)} for engine in engines]
