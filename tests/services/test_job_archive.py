from pathlib import Path

import pytest

from spark_rtm.services.files import job_archive


def test_name_that_is_not_a_package_is_refused(tmp_path: Path) -> None:
    """A module or a missing package cannot be sent as a folder."""
    for name in ("json.decoder", "no_such_package"):
        with pytest.raises(ValueError, match=f"'{name}' is not a package"):
            job_archive.write_code_archive(tmp_path / "job.zip", [name])
