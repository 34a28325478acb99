"""
Render Mermaid diagrams to SVG when the site is built, so that readers load no script for them.

The text of a diagram arrives; a figure leaves whose colours are the theme's, with the text below it for who cannot see.
"""

import hashlib
import re
from functools import cache
from html import escape

import mermaidx

# A row with more steps than this would be unreadable in the column of a page, so it is laid out downwards.
READABLE_STEPS = 4
_SETTINGS = '%%{init: {"htmlLabels": false, "flowchart": {"htmlLabels": false}}}%%\n'
_LONG_NUMBER = re.compile(r"-?\d+\.\d{2,}(?:e-?\d+)?")
_SIZE = re.compile(r'viewBox="[-\d.]+ [-\d.]+ (?P<width>[\d.]+) (?P<height>[\d.]+)"')


def figure(source: str, *_: object, **__: object) -> str:
    """Return the figure of a diagram; the signature is that of a custom fence of superfences."""
    is_long = sum("-->" in line for line in source.splitlines()) > READABLE_STEPS
    svg = _svg(source.replace("flowchart LR", "flowchart TB") if is_long else source)
    width, height = _size(svg)
    opening = f'<svg width="{width:.0f}" height="{height:.0f}" role="img" aria-label="Diagram; its text is below" '
    svg = re.sub(r'<svg (?=[^>]*?viewBox)[^>]*?(?P<box>viewBox="[^"]*")[^>]*>', opening + r"\g<box>>", svg, count=1)
    return (
        f'<figure class="diagram"><div class="diagram__scroll" tabindex="0">{svg}</div>'
        f"<details><summary>The diagram as text</summary><pre><code>{escape(source)}</code></pre></details></figure>"
    )


@cache
def _svg(source: str) -> str:
    text = str(mermaidx.render(_SETTINGS + source).svg())
    identity = "d" + hashlib.sha256(source.encode()).hexdigest()[:8]
    text = re.sub(r"<style>.*?</style>", "", text, flags=re.DOTALL).replace("my-svg", identity)
    text = _LONG_NUMBER.sub(lambda number: f"{float(number[0]):.1f}", text)
    text = re.sub(r' (?:data-[\w-]+|style)="[^"]*"', "", text)
    used = set(re.findall(r"url\(#([^)]+)\)", text))
    return re.sub(r'<marker id="([^"]+)".*?</marker>', lambda m: m[0] if m[1] in used else "", text, flags=re.DOTALL)


def _size(svg: str) -> tuple[float, float]:
    match = _SIZE.search(svg)
    if not match:
        raise ValueError("a rendered diagram has no viewBox, so its size is unknown; look at its text")
    return float(match["width"]), float(match["height"])
