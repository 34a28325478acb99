"""Recognise folders that are not the checkpoint of a streaming query, and say what they are."""

from collections.abc import Mapping

from spark_rtm.inspect.files.folder import Entry, Folder
from spark_rtm.inspect.files.logs import NUMBER

MAX_NAMES = 5
"""Number of names that a message lists."""
_FLINK_MAGIC = bytes.fromhex("4960672d")
_PASS_LOCATION = "pass the value of the query's checkpointLocation"
# Folders and files that name the program that wrote them.
_SIGNS = {
    "_delta_log": "a Delta table",
    "_spark_metadata": "the output of a file sink, not its checkpoint",
    "kafka-streams-process-metadata": "the state directory of Kafka Streams",
    ".hoodie": "a Hudi table",
}


def reason_against(folder: Folder, target: str) -> str | None:
    """Return why a folder cannot be inspected as a checkpoint, or None if it looks like one."""
    found = folder.entries()
    if not found:
        return f"{target} is empty, so no query has started here; {_PASS_LOCATION}"
    if kind := _other_kind(folder, found):
        return f"{target} is {kind}; {_PASS_LOCATION}"
    if any(part in found for part in ("offsets", "commits")):
        return None
    if "metadata" in found:
        return (
            f"{target} contains a query id but no offsets, so the query ended before it planned its first batch; "
            "start the query in any mode and read its error"
        )
    return _reason_against_level(folder, found, target)


def _reason_against_level(folder: Folder, found: Mapping[str, Entry], target: str) -> str:
    """Return the folder to name instead, if this one is above or inside a checkpoint."""
    inner = [name for name, entry in found.items() if entry.is_folder and "offsets" in folder.entries(name)]
    if inner:
        return f"{target} contains {len(inner)} checkpoints; name one of its folders: {_some(inner)}"
    if all(NUMBER.fullmatch(name) or name.startswith(".") for name in found):
        return f"{target} is a part of a checkpoint; name the folder above it"
    names = _some(list(found))
    return f"{target} contains no offsets and no commits ({names}), so it is not a checkpoint; {_PASS_LOCATION}"


def _some(names: list[str]) -> str:
    return ", ".join(names[:MAX_NAMES]) + (", ..." if len(names) > MAX_NAMES else "")


def _other_kind(folder: Folder, found: Mapping[str, Entry]) -> str | None:
    for sign, kind in _SIGNS.items():
        if sign in found:
            return f"{kind} (it contains {sign})"
    if any(name.startswith("chk-") and entry.is_folder for name, entry in found.items()):
        return "a folder of Flink checkpoints (it contains chk-N)"
    if "_metadata" in found and not found["_metadata"].is_folder and folder.read("_metadata")[:4] == _FLINK_MAGIC:
        return "a Flink checkpoint or savepoint (it contains _metadata)"
    metadata = found.get("metadata")
    if metadata and metadata.is_folder and any(name.endswith("metadata.json") for name in folder.entries("metadata")):
        return "an Iceberg table (it contains metadata/*.metadata.json)"
    return None
