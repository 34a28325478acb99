import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urljoin, urlsplit

SUBPATH = "spark-real-time-mode"
"""The path of the published site, which begins the links of the page for missing addresses."""
ROOT_ADDRESS = "http://site/"
BUILD = (sys.executable, "-m", "mkdocs", "build", "--strict")
"""The command of `make site`. With `--quiet`, mkdocs ignores warnings even in strict mode."""


class Document(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.addresses: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.ids.append(value)
            elif value and name in ("href", "src", "data-copy") and (tag, name) != ("base", "href"):
                self.addresses.append(value)


def documents(built: Path) -> dict[str, Document]:
    pages = (path for path in sorted(built.rglob("*.html")) if path.name != "404.html")
    return {path.relative_to(built).as_posix(): Document(path.read_text(encoding="utf-8")) for path in pages}


def broken(built: Path, pages: dict[str, Document]) -> list[str]:
    """Return each link of `pages` to a missing file or anchor of the site."""
    broken_links = []
    for name, document in pages.items():
        for address in document.addresses:
            parts = urlsplit(urljoin(ROOT_ADDRESS + name, address))
            if parts.netloc != urlsplit(ROOT_ADDRESS).netloc or parts.scheme != "http":
                continue
            target = parts.path.lstrip("/") or "index.html"
            known = pages.get(target)
            has_anchor = not parts.fragment or (known and parts.fragment in known.ids)
            if not (built / target).is_file() or not has_anchor:
                broken_links.append(f"{name}: {address}")
    return broken_links
