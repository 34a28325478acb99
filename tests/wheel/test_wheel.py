import email
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import grimp
import pytest
from packaging.requirements import Requirement

from scripts.pack import files
from scripts.pack.files import ROOT
from spark_rtm import page
from tests.lint.case_files import cases_of_rules

BOOLEAN_TRIGGER = 'frame.writeStream.outputMode("update").trigger(realTime=True).start()\n'
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
VERSION = PROJECT["version"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the wheel, built without a network by the packages of `requirements/build.txt`."""
    folder = tmp_path_factory.mktemp("dist")
    options = ["--quiet", "--no-build-isolation", "--no-deps", "--no-index", "--wheel-dir", str(folder)]
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, str(ROOT)], check=True)
    (path,) = folder.iterdir()
    return path


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the `bin` folder of a virtual environment outside the checkout that contains only the wheel."""
    folder = tmp_path_factory.mktemp("venv")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    python = folder / "bin/python"
    options = ["--quiet", "--no-deps", "--no-index", "--no-compile"]
    subprocess.run([sys.executable, "-m", "pip", "--python", str(python), "install", *options, str(wheel)], check=True)
    return folder / "bin"


@pytest.fixture(scope="module")
def with_packages(environment: Path) -> dict[str, str]:
    site_packages = next(path for path in sys.path if path.endswith("site-packages"))
    return {"PYTHONPATH": site_packages}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "bad.py").write_text(BOOLEAN_TRIGGER)
    return tmp_path


def _run(
    environment: Path, program: str, *arguments: str, cwd: Path, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    command = [str(environment / program), *arguments]
    return subprocess.run(command, cwd=cwd, env=variables | (env or {}), capture_output=True, text=True, check=False)


def test_lint_needs_only_the_package_that_the_wheel_requires(
    environment: Path, project: Path, with_packages: dict[str, str]
) -> None:
    """The linter checks Python without any package, and YAML with PyYAML."""
    (project / "bundle.yaml").write_text(cases_of_rules()["cluster-flag/bundle.yaml"])

    bare = _run(environment, "rtm", "lint", "bad.py", cwd=project)
    done = _run(environment, "rtm", "lint", "bundle.yaml", cwd=project, env=with_packages)

    assert ["pyyaml"] == PROJECT["dependencies"]
    assert (1, True) == (bare.returncode, bare.stdout.startswith("bad.py:1:")), bare.stdout + bare.stderr
    assert (1, True) == (done.returncode, "error: cluster-flag: " in done.stdout), done.stdout + done.stderr


def test_wheel_names_pages_in_the_repository_and_a_checkout_by_path(environment: Path, project: Path) -> None:
    """The wheel has no `references/`, and the site has no address yet."""
    code = "from spark_rtm.prove.verdicts import Verdict; "
    code += "print(Verdict('slots', 'wrong', 'e', 'f', 'references/state.md#watermark').text)"
    (verdict,) = _run(environment, "python", "-c", code, cwd=project).stdout.splitlines()
    explained = _run(environment, "rtm", "lint", "--explain", "trigger-duration", cwd=project).stdout
    found = _run(environment, "rtm", "errors", "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE", cwd=project).stdout

    assert verdict.endswith("f; see references/state.md#watermark in the repository")
    assert "references/state.md#watermark" == page("references/state.md#watermark")
    assert "\n  references/errors.md#checkpoint-and-state in the repository\n" in found
    assert found.count("references/") == found.count(" in the repository")
    assert "../" not in explained
    assert "tests/lint/test_lint_programs_on_spark.py in the repository" in explained


def test_slots_and_version_and_help_need_no_package(environment: Path, project: Path) -> None:
    """`rtm` alone prints the help, and `slots` names the partitions that would stay unread."""
    too_few = _run(environment, "rtm", "slots", "--source-partitions", "8", "--available", "5", cwd=project)

    assert 1 == too_few.returncode
    assert "8 task slots = (8 source + 0 repartition + 0 state)\n" == too_few.stdout
    assert "never reads 3 source partitions" in too_few.stderr
    assert f"rtm {VERSION}\n" == _run(environment, "rtm", "--version", cwd=project).stdout
    shown = _run(environment, "rtm", cwd=project)
    assert (0, True) == (shown.returncode, "rtm lint jobs/ README.md" in shown.stdout)


def test_wheel_of_a_clone_names_its_pages_and_its_wheel(wheel: Path, tmp_path: Path) -> None:
    """A path with a space becomes a URL. `pip` can install the requirement that the message names."""
    clone, bin_folder = tmp_path / "my clone", tmp_path / "venv/bin"
    (clone / "dist").mkdir(parents=True)
    (clone / "references").mkdir()
    copied = Path(shutil.copy(wheel, clone / "dist"))
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    pip = [sys.executable, "-m", "pip", "--python", str(bin_folder / "python"), "install", "--quiet", "--no-deps"]
    subprocess.run([*pip, "--no-index", "--no-compile", str(copied)], check=True)

    found = _run(bin_folder, "rtm", "errors", "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE", cwd=tmp_path).stdout
    proved = _run(bin_folder, "rtm", "prove", "job.py", cwd=tmp_path).stderr

    assert f"\n  {clone}/references/errors.md#checkpoint-and-state\n" in found
    requirement = f"spark-real-time-mode[prove] @ {copied.as_uri()}"
    assert proved.endswith(f"is not installed; run pip install '{requirement}'\n")
    subprocess.run([*pip, "--no-index", "--dry-run", requirement], check=True)


@pytest.mark.parametrize(
    ("part", "extra", "package"),
    [
        ("kafka", "kafka", "confluent_kafka"),
        ("services", "testing", "confluent_kafka"),
        ("sinks", "postgres", "psycopg"),
    ],
)
def test_import_without_its_packages_names_the_extra(
    part: str, extra: str, package: str, environment: Path, project: Path, wheel: Path
) -> None:
    done = _run(environment, "python", "-c", f"import spark_rtm.{part}", cwd=project)

    problem = f"spark_rtm.{part} requires the {package!r} package, which is not installed"
    assert (
        f"ModuleNotFoundError: {problem}; run pip install 'spark-real-time-mode[{extra}] @ {wheel.as_uri()}'"
        in done.stderr
    )


def test_program_without_its_packages_ends_with_one_line(environment: Path, project: Path) -> None:
    done = _run(environment, "python", "-m", "spark_rtm.monitoring", cwd=project)

    assert (2, "") == (done.returncode, done.stdout)
    assert done.stderr.startswith("spark_rtm.monitoring requires the 'confluent_kafka' package, which is not installed")
    assert 1 == len(done.stderr.splitlines())


def test_old_python_is_named_in_one_line(environment: Path, project: Path) -> None:
    code = "import runpy, sys; sys.version_info = (3, 10, 1); runpy.run_module('spark_rtm', run_name='__main__')"

    done = _run(environment, "python", "-c", code, cwd=project)

    assert (2, "rtm: this is Python 3.10; run it with Python 3.11 or newer\n") == (done.returncode, done.stderr)


EXTRAS = {
    "prove": ("prove.command",),
    "testing": ("testing.plugin", "testing.run", "services.postgres", "services.spark"),
    "postgres": ("sinks",),
    "monitoring": ("monitoring.query_listener", "monitoring.topic_watcher"),
    "spark": ("realtime.queries", "realtime.slots", "realtime.decoding", "realtime.warm_up"),
}
# PySpark depends on py4j.
PROVIDES = {
    "psycopg[binary]": "psycopg",
    "prometheus-client": "prometheus_client",
    "pyspark": "pyspark py4j",
    "confluent-kafka": "confluent_kafka",
    "pyyaml": "yaml",
}


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph(
        "spark_rtm", include_external_packages=True, exclude_type_checking_imports=True, cache_dir=None
    )


@pytest.mark.parametrize(("extra", "module"), [(extra, part) for extra in EXTRAS for part in EXTRAS[extra]])
def test_extra_names_each_package_that_its_modules_import(extra: str, module: str, graph: grimp.ImportGraph) -> None:
    imported = graph.find_upstream_modules(f"spark_rtm.{module}") - set(sys.stdlib_module_names)
    texts = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"][extra]]
    required = [re.split(r"[<>=;]", text)[0].strip() for text in texts]

    provided = set(" ".join(PROVIDES.get(name, name) for name in required).split())
    assert set() == {name for name in imported if not name.startswith("spark_rtm")} - provided


def test_pytest_finds_plugin_by_entry_point(environment: Path, project: Path, with_packages: dict[str, str]) -> None:
    """The fixtures exist without a line in `conftest.py`."""
    done = _run(environment, "python", "-m", "pytest", "--fixtures", "-q", cwd=project, env=with_packages)

    assert "run_real_time" in done.stdout, done.stdout + done.stderr


def _contents(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist() if not name.endswith("/RECORD")}


def test_init_of_an_installed_wheel_packs_the_same_wheel(wheel: Path, environment: Path, project: Path) -> None:
    done = _run(environment, "rtm", "init", "my-job", cwd=project)

    assert 0 == done.returncode, done.stderr
    assert _contents(wheel) == _contents(project / "my-job/vendor" / wheel.name)


def test_init_of_a_checkout_packs_a_wheel_that_installs_the_same(wheel: Path, project: Path) -> None:
    """The description and the addresses are missing in the metadata, because no installer needs them."""
    command = [sys.executable, "-m", "spark_rtm", "init", str(project / "my-job")]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    ours, built = _contents(project / "my-job/vendor" / wheel.name), _contents(wheel)
    fields = ("Name", "Version", "Requires-Python", "Provides-Extra", "Requires-Dist", "License-Expression")

    assert built.keys() == ours.keys()
    different = {name.rpartition("/")[2] for name in built if built[name] != ours[name]}
    assert different <= {"METADATA", "WHEEL", "entry_points.txt"}
    (ours_text, built_text) = (
        next(text for name, text in content.items() if name.endswith("/METADATA")).decode() for content in (ours, built)
    )
    assert _fields(built_text, fields) == _fields(ours_text, fields)


def _fields(text: str, names: tuple[str, ...]) -> list[tuple[str, list[str]]]:
    message = email.message_from_string(text)
    found = {name: message.get_all(name, []) for name in names}
    found["Requires-Dist"] = [str(Requirement(text)) for text in found["Requires-Dist"]]  # in one notation
    return [(name, sorted(values)) for name, values in found.items()]


def test_wheel_is_the_folder_of_the_checkout(wheel: Path) -> None:
    """The build renames and changes nothing; data files such as the alert rules are in the wheel, too."""
    with zipfile.ZipFile(wheel) as archive:
        packed = {name: archive.read(name) for name in archive.namelist()}

    metadata = {name for name in packed if name.startswith(f"spark_real_time_mode-{VERSION}.dist-info/")}
    assert {files.relative(ROOT, path): path.read_bytes() for path in files.files_below(ROOT / "spark_rtm")} == {
        name: packed[name] for name in packed.keys() - metadata
    }
