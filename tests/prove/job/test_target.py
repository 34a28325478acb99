import contextlib
from pathlib import Path

import pytest

from spark_rtm.prove.job.target import TargetError, function_of, load, matching


@pytest.mark.parametrize(
    ("code", "target", "message"),
    [
        ("def f(rows, size: int): ...", "job.py:f", "nor dataclasses with a default for every field: size; bind"),
        ("def f(): ...", "job.py:f", "takes no DataFrame"),
        ("def f(rows): ...", "job.py:g", "has no function 'g'; it defines f"),
        ("import no_such_package", "job.py:f", "ModuleNotFoundError"),
        ("", "missing.py", "does not exist"),
        ("", "folder.py:f", "'folder.py' is not a file"),
        ("", "job", "is neither a file nor a function"),
    ],
)
def test_target_that_cannot_be_loaded_is_explained(code: str, target: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(code)
    (tmp_path / "folder.py").mkdir()
    with contextlib.chdir(tmp_path), pytest.raises(TargetError, match=message):
        load(target)


SETTINGS = """\
import functools
from dataclasses import dataclass

@dataclass(frozen=True)
class Settings:
    limit: int = 5

def f(rows, settings: Settings, size: int, rules=None):
    return rows, settings.limit, size

proved = functools.partial(f, size=3)
"""


def test_settings_are_created_and_bound_arguments_are_kept(tmp_path: Path) -> None:
    """A dataclass with defaults needs no argument, and `functools.partial` binds values for other parameters."""
    (tmp_path / "job.py").write_text(SETTINGS)

    loaded = load(f"{tmp_path}/job.py:proved")

    assert (["rows"], 8) == ([*loaded.topics], loaded.line)
    assert "('stream', 5, 3)" == str(function_of(loaded)("stream"))


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
    with pytest.raises(ValueError, match="list the topics in the subscribe option"):
        matching("(?!orders).*x{3}")
