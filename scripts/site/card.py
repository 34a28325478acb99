"""Draw the site's link preview image, which shows the median latencies of both modes as two pairs of bars."""

import io
import json
import math
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

NAME = "assets/card.png"
SIZE = (1200, 630)
TITLE = "Spark real-time mode, tested"
LEAD = "Median latency from Kafka to Kafka, open-source Spark {pyspark}, logarithmic scale"
BACK, TEXT, FAST, SLOW = "#10434d", "#ffffff", "#ffb26b", "#9fb4b9"
BAR_LEFT_PX, BAR_WIDTH_PX, BAR_HEIGHT_PX = 480, 520, 52


def png(root: Path) -> bytes:
    """Return the preview image as PNG, with the published median latencies."""
    content = json.loads((root / "references/measured/latency.json").read_text(encoding="utf-8"))
    p50_ms = {(case["workload"], case["engine"]): case["p50_ms"] for case in content["cases"]}
    image = Image.new("RGB", SIZE, BACK)
    draw = ImageDraw.Draw(image)
    draw.text((70, 60), TITLE, TEXT, ImageFont.load_default(64))
    draw.text((70, 150), LEAD.format(**content["conditions"]), SLOW, ImageFont.load_default(26))
    y = 240
    for workload in ("stateless", "stateful"):
        for mode, color in (("real-time", FAST), ("micro-batch", SLOW)):
            _bar(draw, y, f"{workload}, {mode}", p50_ms[workload, mode], color)
            y += BAR_HEIGHT_PX + 16
        y += 24
    buffer = io.BytesIO()
    image.save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


def _bar(draw: ImageDraw.ImageDraw, y: int, label: str, milliseconds: float, color: str) -> None:
    font = ImageFont.load_default(32)
    # From 0.1 ms at the left end to 1,000 ms at the right end.
    length = BAR_WIDTH_PX * (math.log10(max(milliseconds, 0.1)) + 1) / 4
    draw.text((BAR_LEFT_PX - 20, y + BAR_HEIGHT_PX / 2), label, TEXT, font, anchor="rm")
    draw.rectangle((BAR_LEFT_PX, y, BAR_LEFT_PX + length, y + BAR_HEIGHT_PX), color)
    text = f"{milliseconds:,.0f} ms" if milliseconds >= 10 else f"{milliseconds:.1f} ms"
    draw.text((BAR_LEFT_PX + length + 20, y + BAR_HEIGHT_PX / 2), text, TEXT, font, anchor="lm")
