import importlib
import sys
from pathlib import Path

import pytest

from spark_rtm.prove.job.placeholders import file_in, placeholders_for
from spark_rtm.prove.job.target import Job, roots_of


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
