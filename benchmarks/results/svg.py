"""Write charts as SVG files that contain the same bytes for the same numbers, so a diff shows only real changes."""

from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure


def save(figure: Figure, path: Path, salt: str) -> Path:
    """Write a chart with text as text, and return the path of the file. `salt` is the same for all charts of a JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context({"svg.hashsalt": salt, "svg.fonttype": "none"}):
        figure.savefig(path, metadata={"Date": None})
    return path
