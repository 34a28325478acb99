import fcntl
import functools
import os
import subprocess
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from scripts.pack import files
from tests.helpers import program
from tests.site.helpers import BUILD, SUBPATH

CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Discard the log line of a request."""


@pytest.fixture(scope="session")
def built(run_folder: Path) -> Path:
    """Return the site's folder, built with the command of `make site` by the first worker that needs it."""
    folder = run_folder / "www" / SUBPATH
    with (run_folder / "site.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            command = [*BUILD, "--site-dir", str(folder)]
            environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
            done = subprocess.run(
                command, cwd=files.ROOT, env=environment, capture_output=True, text=True, timeout=240, check=False
            )
            assert 0 == done.returncode, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="session")
def pages(built: Path) -> dict[str, str]:
    """Return the HTML of each page except the page for missing addresses."""
    paths = (path for path in sorted(built.rglob("*.html")) if path.name != "404.html")
    return {path.relative_to(built).as_posix(): path.read_text(encoding="utf-8") for path in paths}


@pytest.fixture(scope="session")
def address(built: Path) -> Iterator[str]:
    """Yield the URL of the site, which is in a folder below the server's root, like a project site on GitHub Pages."""
    handler = functools.partial(QuietHandler, directory=str(built.parent))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/{SUBPATH}/"
        server.shutdown()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = program(CHROMIUM, "the site was not tested in a browser", "chromium")
    with sync_playwright() as driver:
        # Chromium cannot use its sandbox when it runs as root, as in a container. The pages are trusted.
        chromium = driver.chromium.launch(executable_path=path, chromium_sandbox=False)
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def phone(browser: Browser) -> Iterator[Page]:
    """Yield a browser page as narrow as a small phone."""
    page = browser.new_page(viewport={"width": 360, "height": 740})
    yield page
    page.close()
