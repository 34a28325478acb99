import os
import resource
import shutil
import signal
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from scripts.pack import files, package_data
from spark_rtm.cli import RTM
from spark_rtm.commands.init import DATABRICKS, FILES, TEMPLATE
from spark_rtm.services.packages import connector

BAD_NAMES = ("a b", "-a", "a-", "ä", "a" * 65, "pyspark", "Spark-Real-Time-Mode")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("init") / "my-job"
    assert 0 == RTM.main(["init", str(folder)])
    return folder


def test_project_contains_the_template_and_a_wheel_that_its_settings_name(project: Path) -> None:
    settings = (project / "pyproject.toml").read_text()
    (wheel,) = (project / "vendor").iterdir()
    written = {files.relative(project, path) for path in project.rglob("*") if path.is_file()}
    parsed = tomllib.loads(settings)

    assert {*FILES.values(), files.relative(project, wheel)} == written
    assert {path.name for path in files.files_below(TEMPLATE)} == FILES.keys() | DATABRICKS.keys()
    assert (project / "job.py").read_bytes() == (TEMPLATE / "job.py").read_bytes()
    assert "my-job" == parsed["project"]["name"]
    assert {"spark-real-time-mode": {"path": f"vendor/{wheel.name}"}} == parsed["tool"]["uv"]["sources"]
    assert "pyspark==4.3.0" in parsed["project"]["dependencies"]
    assert f"org.apache.spark:spark-sql-kafka-0-10_2.13:{connector().version}\n" in settings
    with zipfile.ZipFile(wheel) as archive:
        assert archive.testzip() is None


def test_linter_finds_no_fault_in_a_new_project(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The settings of the project make warnings fail, too."""
    monkeypatch.chdir(project)

    assert 0 == RTM.main(["lint", "."]), capsys.readouterr().out

    text = Path("job.py").read_text()
    Path("job.py").write_text(text.replace('realTime="5 minutes"', "realTime=True"))
    assert 1 == RTM.main(["lint", "."])
    Path("job.py").write_text(text)


def test_project_for_databricks_has_a_bundle_that_finds_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The linter finds nothing with the rules of both engines; a wrong setting of the cluster is reported."""
    project, written = tmp_path / "ads", {*FILES.values(), *DATABRICKS.values()}
    assert 0 == RTM.main(["init", str(project), "--databricks"])
    assert "databricks bundle run first_hour" in capsys.readouterr().out
    bundle = yaml.safe_load((project / "databricks.yml").read_text())
    jobs = {name: target["resources"]["jobs"] for name, target in bundle["targets"].items()}
    [task], [notebook] = jobs["prod"]["real_time"]["tasks"], jobs["dev"]["first_hour"]["tasks"]
    named = [task["spark_python_task"]["python_file"], task["libraries"][0]["whl"]]
    named.append(notebook["notebook_task"]["notebook_path"])
    monkeypatch.chdir(project)

    assert "ads" == bundle["bundle"]["name"]
    assert [] == [name for name in named if not Path(name).is_file()]
    assert written < {files.relative(project, path) for path in project.rglob("*") if path.is_file()}
    assert (project / "start_here.py").read_bytes() == (files.ROOT / "databricks/start_here.py").read_bytes()
    assert 0 == RTM.main(["lint", "."]), capsys.readouterr().out
    text = Path("databricks.yml").read_text()
    Path("databricks.yml").write_text(text.replace("availability: ON_DEMAND_AZURE", "availability: SPOT_AZURE"))
    assert 1 == RTM.main(["lint", "."])


def test_bundle_of_a_project_follows_the_bundle_of_this_repository(tmp_path: Path) -> None:
    (tmp_path / "databricks").mkdir()
    text = (files.ROOT / "databricks/databricks.yml").read_text()
    (tmp_path / "databricks/databricks.yml").write_text(text.replace("./real_time_job.py", "./other.py"))

    with pytest.raises(ValueError, match=r"does not contain './real_time_job.py' exactly once"):
        package_data.bundle_of_a_project(tmp_path)


@pytest.mark.parametrize("is_found", [True, False], ids=["uv", "pip"])
def test_next_commands_fit_the_installer_of_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *, is_found: bool
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    (tmp_path / "bin").mkdir()
    if is_found:
        (tmp_path / "bin/uv").touch(mode=0o755)
    assert 0 == RTM.main(["init", str(tmp_path / "a")])

    text = capsys.readouterr().out

    assert is_found == ("  uv run pytest  " in text)
    assert is_found != ('.venv/bin/pip install "$(ls vendor/*.whl)[java,prove,testing]"\n' in text)


REFUSED: dict[str, tuple[str, Callable[[Path], object], str]] = {
    **{name: (name, lambda _: None, "cannot be the name of a project") for name in BAD_NAMES},
    **{name: (name, lambda _: None, "pass the name of a new folder") for name in (".", "..")},
    "full folder": ("here/a", lambda _: Path("here/a/b").mkdir(parents=True), "here/a is not empty"),
    "file": ("a", lambda path: path.touch(), "a exists and is not a folder"),
    "link": ("a", lambda path: path.symlink_to("."), "a exists and is not a folder"),
    "pipe": ("a", os.mkfifo, "a exists and is not a folder"),
    "no parent": ("gone/a", lambda _: None, "the folder gone does not exist"),
    "parent is a file": ("file/a", lambda _: Path("file").touch(), "cannot write file/a: [Errno 20]"),
    "no permission": ("/proc/a", lambda _: None, "cannot write /proc/a: [Errno 2]"),  # even root cannot create it
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusal_names_the_reason_and_writes_nothing(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    name, prepare, reason = REFUSED[case]
    monkeypatch.chdir(tmp_path)
    prepare(Path(name))
    before = sorted(Path().rglob("*"))

    assert 2 == RTM.main(["init", "--", name])

    assert reason in capsys.readouterr().err
    assert before == sorted(Path().rglob("*"))


def _small_disk() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))


def test_full_disk_leaves_nothing(tmp_path: Path) -> None:
    """The limit of file sizes makes a write fail as a full disk does."""
    command = [sys.executable, "-m", "spark_rtm", "init", str(tmp_path / "a")]

    done = subprocess.run(command, preexec_fn=_small_disk, capture_output=True, text=True, check=False)

    assert (2, []) == (done.returncode, [*tmp_path.iterdir()]), done.stderr
    assert f"rtm: cannot write {tmp_path}/a: [Errno 27] File too large; nothing was written\n" == done.stderr


def _copy(folder: Path, *names: str) -> Path:
    """Copy this package and files of the checkout, and return the folder."""
    shutil.copytree(files.ROOT / "spark_rtm", folder / "spark_rtm", ignore=shutil.ignore_patterns("__pycache__"))
    for name in names:
        shutil.copy(files.ROOT / name, folder)
    return folder


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_leaves_nothing(number: signal.Signals, tmp_path: Path) -> None:
    """The command waits for the end of a pipe, which replaces a file of the template."""
    copy, target = _copy(tmp_path / "copy", "pyproject.toml", "LICENSE"), tmp_path / "new"
    pipe = copy / "spark_rtm/commands/template/test.yml"
    pipe.unlink()
    os.mkfifo(pipe)
    target.mkdir()
    process = subprocess.Popen([sys.executable, "-m", "spark_rtm", "init", str(target / "a")], cwd=copy)
    with pipe.open("w"):  # returns as soon as the command opens the pipe
        assert [] != [*target.glob("a.unfinished-*/vendor/*.whl")]
        process.send_signal(number)
        process.wait(30)

    assert (130, []) == (process.returncode, [*target.iterdir()])


def test_copy_without_metadata_is_refused(tmp_path: Path) -> None:
    """An installed skill has no metadata of the package."""
    command = [sys.executable, "-S", "-m", "spark_rtm", "init", str(tmp_path / "a")]

    done = subprocess.run(command, cwd=_copy(tmp_path / "copy"), capture_output=True, text=True, check=False)

    assert 2 == done.returncode
    assert "spark_rtm is neither a clone nor an installed wheel" in done.stderr
