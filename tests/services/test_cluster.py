"""A cluster of real processes on one machine is complete when its block starts, and gone when it ends."""

import socket

import pytest

import examples.services
from examples.services.cluster import standalone_cluster


def _accepts(url: str) -> bool:
    host, port = url.removeprefix("spark://").split(":")
    with socket.socket() as probe:
        probe.settimeout(2)
        return probe.connect_ex((host, int(port))) == 0


@pytest.mark.spark
def test_cluster_ends_with_its_block() -> None:
    """The master listens inside the block and no longer afterwards; that jobs run on it the pipeline's test shows."""
    with standalone_cluster(workers=2, cores_per_worker=2) as url:
        inside = _accepts(url)

    assert inside
    assert not _accepts(url)


def test_services_package_offers_what_it_lists() -> None:
    """Every name that the package promises can be imported from it."""
    offered = {name: getattr(examples.services, name) for name in examples.services.__all__}

    assert set(offered) == {
        name for name, value in offered.items() if value.__module__.startswith("examples.services.")
    }
    with pytest.raises(AttributeError, match="no_such_name"):
        examples.services.no_such_name  # noqa: B018
