"""Find out from which address this package was installed, so that no message names a package that an index lacks."""

import json
from functools import cache
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import unquote, urlsplit

NAME = "spark-real-time-mode"
"""Name of the wheel."""


def installed() -> Distribution | None:
    """Return the installed distribution to which this package belongs, or None in a folder that was not installed."""
    try:
        found = distribution(NAME)
    except PackageNotFoundError:
        return None
    return found if Path(str(found.locate_file("spark_rtm"))).resolve() == Path(__file__).resolve().parent else None


@cache
def address() -> str:
    """Return the URL of the folder, wheel or Git commit that was installed, or an empty string if it is unknown."""
    found = installed()
    if not found:
        return ""
    content = json.loads(found.read_text("direct_url.json") or "{}")
    if source := content.get("vcs_info"):
        return f"{source['vcs']}+{content['url']}@{source['commit_id']}"
    return str(content.get("url", ""))


def clone() -> Path | None:
    """Return the clone that was installed, or whose folder `dist` contains the wheel that was installed."""
    if not address().startswith("file:"):
        return None
    path = Path(unquote(urlsplit(address()).path))
    return next((folder for folder in (path, *list(path.parents)[1:2]) if (folder / "references").is_dir()), None)


def command(extra: str) -> str:
    """Return the command that installs this package again, with an extra."""
    if not address():
        return f"pip install 'PATH[{extra}]', where PATH is the wheel or a clone of {NAME}"
    return f"pip install '{NAME}[{extra}] @ {address()}'"
