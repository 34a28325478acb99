"""Render Mermaid diagrams to SVG at build time, each followed by its source for readers who cannot see the image."""

import hashlib
import re
from functools import cache
from html import escape
from importlib import metadata
from pathlib import Path

import mermaidx

from scripts.site import layout
from spark_rtm.services.folders import cached_folder

_SETTINGS = '%%{init: {"htmlLabels": false, "flowchart": {"htmlLabels": false}}}%%\n'
_LONG_NUMBER = re.compile(r"-?\d+\.\d{2,}(?:e-?\d+)?")


def figure(source: str, *_: object, **__: object) -> str:
    """Return a diagram as HTML. Additional arguments from superfences are ignored."""
    svg = _svg(source)
    width, height = layout.svg_size(svg)
    opening = f'<svg width="{width}" height="{height}" role="img" aria-label="Diagram; its source is below" '
    svg = re.sub(r'<svg (?=[^>]*?viewBox)[^>]*?(?P<box>viewBox="[^"]*")[^>]*>', opening + r"\g<box>>", svg, count=1)
    return (
        f'<figure class="diagram"><div class="diagram__scroll" tabindex="0">{svg}</div>'
        f"<details><summary>Diagram as text</summary><pre><code>{escape(source)}</code></pre></details></figure>"
    )


@cache
def _svg(source: str) -> str:
    identity = "d" + hashlib.sha256(source.encode()).hexdigest()[:16]
    # Drawing takes two seconds of CPU time for each diagram.
    folder = cached_folder(f"diagrams/{metadata.version('mermaidx')}-{identity}", lambda new: _draw(source, new))
    text = (folder / "drawn.svg").read_text(encoding="utf-8")
    text = re.sub(r"<style>.*?</style>", "", text, flags=re.DOTALL).replace("my-svg", identity)
    text = _LONG_NUMBER.sub(lambda number: f"{float(number[0]):.1f}", text)
    text = re.sub(r' (?:data-[\w-]+|style)="[^"]*"', "", text)
    used = set(re.findall(r"url\(#([^)]+)\)", text))
    return re.sub(r'<marker id="([^"]+)".*?</marker>', lambda m: m[0] if m[1] in used else "", text, flags=re.DOTALL)


def _draw(source: str, folder: Path) -> None:
    (folder / "drawn.svg").write_text(str(mermaidx.render(_SETTINGS + source).svg()), encoding="utf-8")
