"""The verdict on one answer."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Verdict:
    """Whether an answer is right, and if not, why."""

    item: str
    is_right: bool
    reason: str = ""
    read_bytes: int | None = None
    """Size of the files of the pack that the assistant has opened, or None if that is unknown."""
    seconds: float = 0.0
