"""What `prove` answers in place of a cluster: topics for a pattern, modules that are missing."""

import importlib
import sys

import pytest

from spark_rtm.prove.subjects.placeholders import placeholders_for
from spark_rtm.prove.subjects.recorders import matching


@pytest.mark.parametrize(
    ("pattern", "topic"),
    [
        ("orders.*", "orders1"),
        ("^(?:a|b)_(in|out)$", "a_in"),
        (r"shop[.]eu-\d+", "shop.eu-1"),
        (r"events\..+", "events.1"),
    ],
)
def test_pattern_of_topics_names_one_topic(pattern: str, topic: str) -> None:
    """A job that subscribes to a pattern reads the topic that `prove` creates."""
    assert topic == matching(pattern)


def test_pattern_that_is_not_understood_is_named() -> None:
    """The message says what to write instead."""
    with pytest.raises(ValueError, match="name the topics with the option subscribe"):
        matching("(?!orders).*x{3}")


def test_missing_module_accepts_every_call_and_keeps_decorated_functions() -> None:
    """A client that is not installed neither stops a job nor changes its functions, and vanishes afterwards."""
    with placeholders_for({"no_such_client"}):
        client = importlib.import_module("no_such_client.cluster")
        with client.Cluster(["x"]).connect() as session:
            assert not session.execute("select 1")
        assert 1 == client.retry(times=3)(lambda: 1)()

    assert "no_such_client.cluster" not in sys.modules
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("no_such_client")
