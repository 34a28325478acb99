"""Recognise folders that are not the checkpoint of a streaming query."""

from collections.abc import Mapping

from spark_rtm.inspect.files.folder import Entry, Folder
from spark_rtm.inspect.files.logs import NUMBER

MAX_NAMES = 5
"""Maximum number of names in a message."""
_PASS_LOCATION = "pass the value of the query's checkpointLocation"


def reason_against(folder: Folder, target: str) -> str | None:
    """Return why a folder is not a checkpoint, or None."""
    found = folder.entries()
    if not found:
        return f"{target} is empty, so no query has started here; {_PASS_LOCATION}"
    if any(part in found for part in ("offsets", "commits")):
        return None
    if "metadata" in found and not found["metadata"].is_folder:
        return (
            f"{target} contains a query id but no offsets, so the query ended before it planned its first batch; "
            "start the query in any mode and read its error"
        )
    return _reason_against_level(folder, found, target)


def _reason_against_level(folder: Folder, found: Mapping[str, Entry], target: str) -> str:
    """Return why a folder is not a checkpoint, and name a checkpoint above or below it if there is one."""
    inner = [name for name, entry in found.items() if entry.is_folder and "offsets" in folder.entries(name)]
    if inner:
        return f"{target} contains {len(inner)} checkpoints; pass one of its folders: {_some(inner)}"
    if all(NUMBER.fullmatch(name) or name.startswith(".") for name in found):
        return f"{target} is a part of a checkpoint; pass the folder above it"
    names = _some(list(found))
    return f"{target} contains {names}, but no offsets and no commits, so it is not a checkpoint; {_PASS_LOCATION}"


def _some(names: list[str]) -> str:
    return ", ".join(names[:MAX_NAMES]) + (", ..." if len(names) > MAX_NAMES else "")
