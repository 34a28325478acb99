import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import check_jsonschema
import pytest
import yaml
from click.testing import CliRunner, Result

from scripts.pack.files import ROOT
from tests.lint.case_files import cases_of_rules

BOOLEAN_TRIGGER = 'frame.writeStream.outputMode("update").trigger(realTime=True).start()\n'
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
PINNED = re.compile(r"uses: [\w./-]+@[0-9a-f]{40} # v[\d.]+\n")
SCHEMAS = {"action.yml": "github-actions", ".github/dependabot.yml": "dependabot"}
SCHEMAS |= {f".github/workflows/{path.name}": "github-workflows" for path in WORKFLOWS}
SCHEMAS |= {"CITATION.cff": "citation-file-format"}
OF_A_NEW_PROJECT = "spark_rtm/commands/template/test.yml"
SCHEMAS |= {OF_A_NEW_PROJECT: "github-workflows"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "bad.py").write_text(BOOLEAN_TRIGGER)
    subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)
    subprocess.run(["git", "add", "bad.py"], cwd=folder, check=True)
    return folder


OLD_PYTHON = """#!{python}
import runpy, sys
sys.version_info = (3, 9, 6)
if sys.argv[2] == "-c":
    exec(sys.argv[3])
runpy.run_path(sys.argv[2], run_name="__main__")
"""


def _lint_step(
    project: Path, variables: dict[str, str] | None = None, /, **inputs: str
) -> subprocess.CompletedProcess[str]:
    """Run the step as the runner does: replace the expressions in `env`, then execute `run` with bash."""
    values = {name: str(spec["default"]) for name, spec in ACTION["inputs"].items()} | inputs
    step = ACTION["runs"]["steps"][0]

    def value(text: str) -> str:
        text = text.replace("${{ github.action_path }}", str(ROOT))
        return re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda match: values[match[1]], text)

    env = {**os.environ, **{name: value(text) for name, text in step["env"].items()}, **(variables or {})}
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    return subprocess.run(command, cwd=project, env=env, capture_output=True, text=True, check=False)


def test_action_annotates_mistake_and_writes_sarif_outputs_and_a_summary(project: Path, tmp_path: Path) -> None:
    """
    The SARIF file contains the findings, and the step outputs contain the counts of errors and warnings.

    The summary contains no text from the project's files.
    """
    output, summary = tmp_path / "output", tmp_path / "summary"
    variables = {"GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(summary)}
    done = _lint_step(project, variables, **{"sarif-file": "rtm.sarif"})

    assert 1 == done.returncode, done.stderr
    assert done.stdout.startswith("::error file=bad.py,line=1,col=")
    (run,) = json.loads((project / "rtm.sarif").read_text())["runs"]
    assert len(done.stdout.splitlines()) == len(run["results"])
    assert ["errors=1", "warnings=0", "sarif-file=rtm.sarif"] == output.read_text().splitlines()
    assert set(ACTION["outputs"]) == {line.partition("=")[0] for line in output.read_text().splitlines()}
    assert "1 errors, 0 warnings\n" in summary.read_text()
    assert "| 1 | error | `trigger-duration` |\n" in summary.read_text()
    assert "bad.py" not in summary.read_text()


def test_action_with_a_missing_path_annotates_it_and_leaves_a_valid_file(project: Path, tmp_path: Path) -> None:
    """The upload step accepts the SARIF file, so only the missing path is an error; no output looks like a result."""
    output, summary = tmp_path / "output", tmp_path / "summary"
    variables = {"GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(summary)}
    done = _lint_step(project, variables, paths="nope/**/100%.py", **{"sarif-file": "rtm.sarif"})

    reason = "these paths do not exist, so nothing was checked; correct them: nope/**/100%25.py"
    assert (2, f"::error::{reason}\n") == (done.returncode, done.stdout), done.stderr
    assert ["errors=", "warnings=", "sarif-file=rtm.sarif"] == output.read_text().splitlines()
    assert (True, False) == ("Nothing was checked" in summary.read_text(), "0 errors" in summary.read_text())
    written = json.loads((project / "rtm.sarif").read_text())
    assert ("2.1.0", [[]]) == (written["version"], [run["results"] for run in written["runs"]])
    assert all(run["tool"]["driver"]["name"] for run in written["runs"])


def test_action_succeeds_without_mistakes(project: Path) -> None:
    """A folder without findings passes, and an input is never executed."""
    (project / "bad.py").write_text("print('good')\n")

    assert 0 == _lint_step(project, paths="bad.py", engine="oss-4.3", strict="true").returncode
    assert 2 == _lint_step(project, paths="$(touch executed)").returncode
    assert not (project / "executed").exists()


def test_action_checks_lines_quoted_paths_and_patterns(project: Path) -> None:
    """Lines, quoted paths and patterns in `paths` lead to files; pattern characters in a file's name are literal."""
    (project / "a b").mkdir()
    texts = {"[x].py": "", "x.py": "realTime=(", "a b/bad.py": BOOLEAN_TRIGGER, "bad_too.py": BOOLEAN_TRIGGER}
    for name, text in texts.items():
        (project / name).write_text(text)

    done = _lint_step(project, paths="bad.py\n'a b'/bad.py [x].py\n**/*_too.py")

    found = re.findall(r"^::error file=([^,]+),line=1,", done.stdout, re.MULTILINE)
    assert (1, ["a b/bad.py", "bad.py", "bad_too.py"]) == (done.returncode, sorted(found)), done


def test_action_checks_yaml_or_states_why_not(project: Path, tmp_path: Path) -> None:
    """A bundle is checked; without PyYAML and network, status 2 states the reason."""
    (project / "bundle.yaml").write_text(cases_of_rules()["cluster-flag/bundle.yaml"])
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "bare"], check=True)
    bare = {"PATH": f"{tmp_path / 'bare/bin'}:{os.environ['PATH']}"}

    checked = _lint_step(project, paths="bundle.yaml")
    unchecked = _lint_step(project, bare, paths="bundle.yaml bad.py")

    assert (1, True) == (checked.returncode, "title=cluster-flag::" in checked.stdout)
    assert 2 == unchecked.returncode
    assert "::warning::PyYAML could not be installed" in unchecked.stdout
    assert "title=unchecked::PyYAML is not installed" in unchecked.stdout
    assert "title=trigger-duration::" in unchecked.stdout


@pytest.mark.parametrize("path", ["", "."], ids=["no path", "PYTHONPATH"])
def test_action_runs_no_module_of_the_project(project: Path, tmp_path: Path, path: str) -> None:
    """Without PyYAML, the action starts pip, whose modules a project may have at its root."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "bare"], check=True)
    for name in ("pip", "logging", "glob", "yaml", "sitecustomize"):
        (project / f"{name}.py").write_text(f"open({str(tmp_path / 'executed')!r}, 'a').write('{name} ')\n")
    bare = {"PATH": f"{tmp_path / 'bare/bin'}:{os.environ['PATH']}", "PYTHONPATH": path}

    done = _lint_step(project, bare, paths="bad.py")

    assert (1, False) == (done.returncode, (tmp_path / "executed").exists()), done
    assert "title=trigger-duration::" in done.stdout


def test_action_with_an_old_python_fails_clearly(project: Path, tmp_path: Path) -> None:
    old = tmp_path / "python3"
    old.write_text(OLD_PYTHON.format(python=sys.executable))
    old.chmod(0o755)
    for name in ("python3.11", "python3.12", "python3.13"):
        (tmp_path / name).symlink_to(old)
    path = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}

    done = _lint_step(project, path, **{"sarif-file": "rtm.sarif"})

    assert (2, "::error::this is Python 3.9; add actions/setup-python with 3.11 or newer\n") == (
        done.returncode,
        done.stdout,
    )
    assert [] == json.loads((project / "rtm.sarif").read_text())["runs"][0]["results"]


@pytest.mark.timeout(180)
def test_hook_reports_mistake(project: Path, tmp_path: Path) -> None:
    source = tmp_path / "hooks"
    shutil.copytree(ROOT / "spark_rtm", source / "spark_rtm", ignore=shutil.ignore_patterns("__pycache__"))
    for name in (".pre-commit-hooks.yaml", "LICENSE", "pyproject.toml"):
        shutil.copy(ROOT / name, source)
    git = ["git", "-c", "user.name=test", "-c", "user.email=test@example.org", "-C", str(source)]
    for command in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "-m", "hook"]):
        subprocess.run([*git, *command], check=True)
    # The build needs hatchling, which the test environment has, so pip needs no package index.
    site_packages = next(path for path in sys.path if path.endswith("site-packages"))
    env = {**os.environ, "PRE_COMMIT_HOME": str(tmp_path / "cache"), "PIP_NO_BUILD_ISOLATION": "0", "PIP_NO_INDEX": "1"}
    env |= {"PYTHONPATH": site_packages}

    (project / "bundle.yaml").write_text(cases_of_rules()["cluster-flag/bundle.yaml"])
    subprocess.run(["git", "add", "bundle.yaml"], cwd=project, check=True)
    command = [sys.executable, "-m", "pre_commit", "try-repo", str(source), "rtm-lint", "--all-files"]
    done = subprocess.run(command, cwd=project, env=env, capture_output=True, text=True, check=False)

    assert 1 == done.returncode, done.stdout + done.stderr
    assert "bad.py:1:" in done.stdout, done.stdout + done.stderr
    assert "bundle.yaml:4:7: error: cluster-flag: " in done.stdout, done.stdout + done.stderr


def _checked(path: Path, schema: str) -> Result:
    """Run check-jsonschema in this process, because importing it takes longer than the check."""
    return CliRunner().invoke(check_jsonschema.main, ["--builtin-schema", f"vendor.{schema}", str(path)])


@pytest.mark.parametrize("path", SCHEMAS)
def test_file_follows_its_public_schema(path: str) -> None:
    done = _checked(ROOT / path, SCHEMAS[path])

    assert 0 == done.exit_code, done.output


def test_actions_are_pinned_by_commit_and_permissions_are_minimal() -> None:
    """A tag can be moved to other code; the token of our workflow can only read."""
    for path in (*WORKFLOWS, ROOT / "action.yml", ROOT / OF_A_NEW_PROJECT):
        assert len(PINNED.findall(path.read_text())) == len(re.findall(r"uses:", path.read_text()))
        assert "secrets." not in path.read_text()
    page = (ROOT / "references/install.md").read_text()
    assert ["actions/checkout"] == re.findall(r"uses: ([\w/-]+)@[0-9a-f]{40} # v", page)
    assert "persist-credentials: false" in page
    workflows = {path.stem: yaml.safe_load(path.read_text()) for path in WORKFLOWS}
    assert [{"contents": "read"}] * len(workflows) == [workflow["permissions"] for workflow in workflows.values()]
    jobs = workflows["release"]["jobs"]
    rights = {name: sorted(content.get("permissions", {})) for name, content in jobs.items() if name != "site"}
    assert {"build": [], "attest": ["attestations", "id-token"], "index": ["id-token"]} == rights
    # A job that may sign or publish runs no code of packages.
    programs = {step["run"].split()[0] for name in ("attest", "index") for step in jobs[name]["steps"] if "run" in step}
    assert {"rm"} == programs


def test_ci_is_defined_once() -> None:
    """The workflow and this repository's own CI run the same script, on the oldest and on the newest Python."""
    test = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text())["jobs"]["test"]

    assert ["3.11", "3.13"] == test["strategy"]["matrix"]["python"]
    assert ["bash .ci/run"] == [step["run"] for step in test["steps"] if "run" in step]
    assert "exec make test\n" in (ROOT / ".ci/run").read_text()
