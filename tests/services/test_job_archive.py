import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from spark_rtm.services.files import job_archive


def test_module_is_imported_from_the_code_archive(tmp_path: Path) -> None:
    archive = job_archive.write_code_archive(tmp_path / "job.zip", ["examples"])
    program = f"import sys; sys.path.insert(0, {str(archive)!r})\n"
    program += "import examples.attribution.credit.rule as rule; print(rule.__file__)"

    result = subprocess.run(
        [sys.executable, "-I", "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60
    )

    assert f"{archive}/examples/attribution/credit/rule.py\n" == result.stdout


def test_name_that_is_not_a_package_is_refused(tmp_path: Path) -> None:
    """A module or a missing package cannot be sent as a folder."""
    for name in ("json.decoder", "no_such_package"):
        with pytest.raises(ValueError, match=f"'{name}' is not a package"):
            job_archive.write_code_archive(tmp_path / "job.zip", [name])


def test_packages_archive_contains_required_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_archive, "WORKER_PACKAGES", ("psycopg",))

    archive = job_archive.write_packages_archive(tmp_path / "packages.tar")

    with tarfile.open(archive) as content:
        names = content.getnames()
    assert {"psycopg/__init__.py", "typing_extensions.py"} <= set(names)
    assert [] == [name for name in names if name.startswith(("/", "..")) or "__pycache__" in name]
