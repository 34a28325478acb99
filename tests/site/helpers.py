import sys
from html.parser import HTMLParser
from pathlib import Path

SUBPATH = "spark-real-time-mode"
"""The path of the published site, which begins the links of the page for missing addresses."""
BUILD = (sys.executable, "-m", "mkdocs", "build", "--strict")
"""The command of `make site`. With `--quiet`, mkdocs ignores warnings even in strict mode."""


class Document(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.addresses: list[str] = []
        self.feed(text)

    def handle_starttag(self, _tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("id", "href") and value:
                (self.ids if name == "id" else self.addresses).append(value)


def documents(built: Path) -> dict[str, Document]:
    pages = (path for path in sorted(built.rglob("*.html")) if path.name != "404.html")
    return {path.relative_to(built).as_posix(): Document(path.read_text(encoding="utf-8")) for path in pages}
