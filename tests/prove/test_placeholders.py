import importlib
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from spark_rtm.prove.job.placeholders import file_in, placeholders_for
from spark_rtm.prove.job.target import Job, matching, roots_of
from spark_rtm.prove.records.parseable_strings import time_in


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
    with pytest.raises(ValueError, match="name the topics with the option subscribe"):
        matching("(?!orders).*x{3}")


@pytest.mark.parametrize(
    ("pattern", "form"),
    [
        ("yyyy-MM-dd'T'HH:mm:ssXXX", "%Y-%m-%dT%H:%M:%S+00:00"),
        ("dd/MM/yyyy HH:mm", "%d/%m/%Y %H:%M"),
        ("yyyy-MM-dd HH:mm:ss.SSSSSS", "%Y-%m-%d %H:%M:%S.%f"),
        ("MM-dd-yyyy hh:mm a", "%m-%d-%Y %I:%M %p"),
    ],
)
def test_time_is_written_in_a_pattern_of_java(pattern: str, form: str) -> None:
    written = datetime.strptime(time_in(pattern), form).replace(tzinfo=UTC)

    assert timedelta(minutes=2) > datetime.now(UTC) - written


def test_file_is_found_in_the_folders_of_a_job(tmp_path: Path) -> None:
    """A job opens its files from its own folder, or from the folder in which `prove` was started."""
    started_in = tmp_path / "configs"
    for folder, name in ((tmp_path / "src", "job.py"), (started_in, "shop.yaml")):
        folder.mkdir()
        (folder / name).touch()
    folders = roots_of(Job(tmp_path / "src/job.py", folder=started_in))

    assert str(started_in / "shop.yaml") == file_in(folders, "shop.yaml") == file_in(folders, Path.cwd() / "shop.yaml")
    assert "/no/such/shop.yaml" == file_in(folders, "/no/such/shop.yaml")


def test_missing_module_accepts_every_call_and_keeps_decorated_functions() -> None:
    with placeholders_for({"no_such_client"}):
        client = importlib.import_module("no_such_client.cluster")
        with client.Cluster(["x"]).connect() as session:
            assert session
            assert not session.execute("select 1")
            assert Path("prove") == Path(session.path())
        assert 1 == client.retry(times=3)(lambda: 1)()

    assert "no_such_client.cluster" not in sys.modules
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("no_such_client")
