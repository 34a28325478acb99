from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_rtm.services import postgres_server
from tests.helpers import new_topic
from tests.pages.jobs import new_job
from tests.pages.operator_probe import open_probe
from tests.pages.running import PageEnvironment
from tests.pages.samples import create_page_topics

RESULTS = pytest.StashKey[dict[pytest.Item, Future[None]]]()


OWN: dict[str, Callable[[SparkSession, str, Path], Any]] = {
    "job": lambda spark, kafka, folder: new_job(spark, kafka, folder / "checkpoint"),
    "probe": lambda spark, kafka, folder: open_probe(spark, kafka, new_topic(kafka, 1), folder),
    "tmp_path": lambda _spark, _kafka, folder: folder,
}


def _fixture(name: str) -> Any:
    @pytest.fixture(name=name)
    def own(request: pytest.FixtureRequest, spark: SparkSession, kafka: str, tmp_path: Path) -> Any:
        # `pytest_pyfunc_call` passes another value to the tests that run side by side.
        return None if request.node.get_closest_marker("side_by_side") else OWN[name](spark, kafka, tmp_path)

    return own


job, probe = map(_fixture, ("job", "probe"))


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> object:
    """
    Run the tests of a module with the `side_by_side` marker at the same time, because they wait for batches.

    The first of these tests takes as long as the longest; each of the others only returns its result.
    """
    if not pyfuncitem.get_closest_marker("side_by_side"):
        return None
    results = pyfuncitem.session.stash.setdefault(RESULTS, {})
    if pyfuncitem not in results:
        results.update(_started(pyfuncitem))
    results[pyfuncitem].result()
    return True


def _started(first: pytest.Function) -> dict[pytest.Item, Future[None]]:
    """Run all tests beside `first`, and return their results. Their fixtures are in `OWN`, or have a wider scope."""
    value = first._request.getfixturevalue  # noqa: SLF001 - not public
    spark, kafka, folders = map(value, ("spark", "kafka", "tmp_path_factory"))
    tests = [item for item in first.session.items if item.path == first.path and isinstance(item, pytest.Function)]
    tests = [item for item in tests if item.get_closest_marker("side_by_side")]
    arguments: list[dict[str, Any]] = []
    for item in tests:
        parameters, folder = item.callspec.params if hasattr(item, "callspec") else {}, folders.mktemp("own")
        names = [name for name in item._fixtureinfo.argnames if name not in parameters]  # noqa: SLF001 - not public
        fixtures = {name: OWN[name](spark, kafka, folder) if name in OWN else value(name) for name in names}
        arguments.append(fixtures | parameters)
    thread = spark._jvm.java.lang.Thread  # noqa: SLF001 - not public
    # The classes of added jars are in this loader only.
    loader = thread.currentThread().getContextClassLoader()

    def run(item: pytest.Function, arguments: dict[str, Any]) -> None:
        thread.currentThread().setContextClassLoader(loader)
        item.obj(**arguments)

    with ThreadPoolExecutor(len(tests)) as pool:
        return dict(zip(tests, [pool.submit(run, *each) for each in zip(tests, arguments, strict=True)], strict=True))


@pytest.fixture(scope="session")
def environment(spark: SparkSession, kafka: str, workplace: Path) -> Iterator[PageEnvironment]:
    create_page_topics(kafka)
    with postgres_server() as dsn, pytest.MonkeyPatch.context() as patch:
        addresses = {"KAFKA_BOOTSTRAP_SERVERS": kafka, "POSTGRES_DSN": dsn}
        for name, value in {**addresses, "CHECKPOINTS": "checkpoints", "METRICS_PORT": "0"}.items():
            patch.setenv(name, value)
        yield PageEnvironment(spark, kafka, workplace)
