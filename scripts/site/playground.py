"""
Add `rtm` to the site: Pyodide from a pinned npm package, and the modules of `spark_rtm`.

A page loads Python only when a reader presses the button. The reader's code never leaves the browser.
"""

import base64
import hashlib
import io
import os
import shutil
import subprocess
import tarfile
import tempfile
import zipfile
from pathlib import Path

import yaml

from spark_rtm.services.folders import cached_folder

FOLDER = "assets/playground"
VERSION = "314.0.7"
SHA512 = "0YvXxEhfEdpLfb/XkM2BFAeMROq0iMUX2bzzH9pOttyMcWkwq+HbE5uyuGD82LN7y2q+SNvi/6V5JEsOlD2R1A=="
RUNTIME = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
ARCHIVE = "spark_rtm.zip"
FIRST_DAY = (1980, 1, 1, 0, 0, 0)


def is_possible() -> bool:
    """Return whether the site can include the Python forms, which need npm. In CI, npm is assumed to be installed."""
    return bool(os.environ.get("CI") or shutil.which("npm"))


def contents(root: Path) -> dict[str, bytes]:
    """Return the contents of the playground's files, keyed by their path on the site."""
    runtime = cached_folder(f"pyodide-{VERSION}", _fetch)
    texts = {name: (runtime / name).read_bytes() for name in RUNTIME}
    return {f"{FOLDER}/{name}": content for name, content in {**texts, ARCHIVE: archive(root)}.items()}


def archive(root: Path) -> bytes:
    """Return a zip file of PyYAML and the modules of `rtm`. The same sources always produce the same bytes."""
    paths = (root / "spark_rtm").rglob("*")
    modules = {str(path.relative_to(root)): path for path in paths if path.suffix in {".py", ".json"}}
    modules |= {f"yaml/{path.name}": path for path in Path(yaml.__file__).parent.glob("*.py")}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as content:
        for name, path in sorted(modules.items()):
            content.writestr(zipfile.ZipInfo(name, FIRST_DAY), path.read_bytes(), zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def _fetch(folder: Path) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        command = ["npm", "pack", "--silent", f"pyodide@{VERSION}"]
        try:
            subprocess.run(command, cwd=scratch, check=True, capture_output=True, text=True, timeout=300)
        except (OSError, subprocess.SubprocessError) as error:
            output = getattr(error, "stderr", None) or error
            raise RuntimeError(
                f"cannot fetch pyodide {VERSION} from npm, which the site's forms need: {output}"
            ) from error
        [package] = Path(scratch).glob("*.tgz")
        digest = base64.b64encode(hashlib.sha512(package.read_bytes()).digest()).decode()
        if digest != SHA512:
            raise RuntimeError(f"the package pyodide {VERSION} has the SHA-512 {digest}, not the pinned {SHA512}")
        with tarfile.open(package) as content:
            for name in RUNTIME:
                source = content.extractfile(f"package/{name}")
                assert source
                (folder / name).write_bytes(source.read())
