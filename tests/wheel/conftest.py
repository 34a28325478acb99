import subprocess
import sys
from pathlib import Path

import pytest

from scripts.pack.files import ROOT


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the wheel, built without a network by the packages of `requirements/build.txt`."""
    folder = tmp_path_factory.mktemp("dist")
    options = ["--quiet", "--no-build-isolation", "--no-deps", "--no-index", "--wheel-dir", str(folder)]
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, str(ROOT)], check=True)
    (path,) = folder.iterdir()
    return path


@pytest.fixture(scope="session")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the `bin` folder of a virtual environment outside the checkout that contains only the wheel."""
    folder = tmp_path_factory.mktemp("venv")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    python = folder / "bin/python"
    options = ["--quiet", "--no-deps", "--no-index", "--no-compile"]
    subprocess.run([sys.executable, "-m", "pip", "--python", str(python), "install", *options, str(wheel)], check=True)
    return folder / "bin"


@pytest.fixture(scope="session")
def with_packages(environment: Path) -> dict[str, str]:
    site_packages = next(path for path in sys.path if path.endswith("site-packages"))
    return {"PYTHONPATH": site_packages}
