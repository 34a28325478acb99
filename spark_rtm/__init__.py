"""Tools and building blocks for Apache Spark real-time mode."""

import sys
from pathlib import Path

from spark_rtm.moved import MovedModules

sys.meta_path.append(MovedModules())
__version__ = "0.1.0"
DOCUMENTATION = "https://your-organization.github.io/spark-real-time-mode"
"""The address of the site."""


def page(path: str) -> str:
    """Return the path of a page in a checkout or a copy of the skill, or its address on the site."""
    name, hash_sign, anchor = path.partition("#")
    if not name or Path(__file__).parents[1].joinpath(name).is_file():
        return path
    return f"{DOCUMENTATION}/{name.removesuffix('.md')}.html{hash_sign}{anchor}"
