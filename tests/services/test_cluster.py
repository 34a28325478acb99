"""A local cluster is complete when its block starts, and stopped when it ends."""

import socket

import pytest

from examples.services.cluster import standalone_cluster


def _accepts(url: str) -> bool:
    host, port = url.removeprefix("spark://").split(":")
    with socket.socket() as probe:
        probe.settimeout(2)
        return probe.connect_ex((host, int(port))) == 0


@pytest.mark.spark
def test_cluster_ends_with_its_block() -> None:
    """The master accepts connections only inside the block; the pipeline's test shows that jobs run on it."""
    with standalone_cluster(workers=2, cores_per_worker=2) as url:
        inside = _accepts(url)

    assert inside
    assert not _accepts(url)
