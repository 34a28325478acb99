from pathlib import Path

import pytest

from spark_rtm.lint.engine import RULES, lint_paths
from spark_rtm.lint.settings import Settings, SettingsError, settings_for
from tests.lint.test_lint_sources import BAD

NAMES = [rule.id for rule in RULES]
NO_MODE = BAD.replace('.outputMode("update")', "")
"""A query with a wrong trigger and without an output mode."""


def project(tmp_path: Path, table: str) -> Path:
    (tmp_path / "pyproject.toml").write_text(f"[tool.rtm-lint]\n{table}\n")
    (tmp_path / "src/old").mkdir(parents=True)
    for name in ("src/job.py", "src/old/job.py"):
        (tmp_path / name).write_text(NO_MODE)
    return tmp_path


def found(root: Path, **given: object) -> set[tuple[str, str]]:
    settings = settings_for([root / "src"], NAMES, given)
    findings = lint_paths([root / "src"], settings=settings)
    return {(Path(each.path).relative_to(root / "src").as_posix(), each.rule) for each in findings}


BOTH = {(path, rule) for path in ("job.py", "old/job.py") for rule in ("trigger-duration", "output-mode")}


@pytest.mark.parametrize(
    ("table", "missing"),
    [
        ("", set()),
        ('select = ["trigger"]', {("job.py", "output-mode"), ("old/job.py", "output-mode")}),
        ('select = ["ALL"]\nignore = ["output-mode"]', {("job.py", "output-mode"), ("old/job.py", "output-mode")}),
        ('ignore = ["trigger"]', {("job.py", "trigger-duration"), ("old/job.py", "trigger-duration")}),
        ('exclude = ["old"]', {("old/job.py", "trigger-duration"), ("old/job.py", "output-mode")}),
        ('exclude = ["src/old/*.py"]', {("old/job.py", "trigger-duration"), ("old/job.py", "output-mode")}),
        ('per-file-ignores = {"src/old/*" = ["output-mode"]}', {("old/job.py", "output-mode")}),
    ],
)
def test_project_settings_select_rules_and_files(tmp_path: Path, table: str, missing: set[tuple[str, str]]) -> None:
    assert BOTH - missing == found(project(tmp_path, table))


def test_command_line_replaces_project_settings(tmp_path: Path) -> None:
    root = project(tmp_path, 'select = ["output-mode"]\nexclude = ["old"]')

    assert {("job.py", "trigger-duration")} == found(root, select=("trigger",), ignore=None)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ('selct = ["sink"]', "unknown setting 'selct' in [tool.rtm-lint]; use one of engine, exclude, ignore"),
        ('select = "sink"', "select is 'sink'; write a list of rules"),
        ('engine = "flink"', "engine is 'flink'; write 'oss-4.3' or 'databricks'"),
        ('ignore = ["output-mod"]', "contains the rule 'output-mod', which does not exist; did you mean output-mode"),
        ("strict = ", "cannot be read"),
    ],
)
def test_wrong_setting_names_file_and_remedy(tmp_path: Path, table: str, message: str) -> None:
    """A misspelled setting is never ignored."""
    root = project(tmp_path, table)

    with pytest.raises(SettingsError) as error:
        settings_for([root], NAMES, {})

    assert message in str(error.value)
    assert str(root / "pyproject.toml") in str(error.value)


def test_unchecked_is_reported_without_selection() -> None:
    """A selection does not hide an incomplete check, unless `unchecked` is ignored by name."""
    assert Settings(select=("sink",)).reports("unchecked", "job.py")
    assert not Settings(ignore=("unchecked",)).reports("unchecked", "job.py")


@pytest.mark.parametrize("sign", ["#", "//", "--", "<!--"])
def test_comment_silences_a_rule_in_the_whole_file(tmp_path: Path, sign: str) -> None:
    (tmp_path / "page.md").write_text(
        f"```python\n{NO_MODE}{NO_MODE}```\n\n{sign} rtm: file-ignore[trigger-duration] shown\n"
    )

    assert {"output-mode"} == {finding.rule for finding in lint_paths([tmp_path])}
