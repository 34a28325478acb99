"""Write charts as SVG files with equal bytes for equal numbers, so a diff shows only real changes."""

from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure


def save(figure: Figure, path: Path, salt: str) -> Path:
    """Write a chart with real text, and return the file's path. All charts of a JSON share `salt`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context({"svg.hashsalt": salt, "svg.fonttype": "none"}):
        figure.savefig(path, metadata={"Date": None})
    return path
