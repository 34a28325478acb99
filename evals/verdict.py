"""The verdict on one answer."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Verdict:
    """Whether an answer is right, or the reason why not."""

    item: str
    is_right: bool
    reason: str = ""
    read_bytes: int | None = None
    """Size of the opened files of the pack, or None if unknown."""
    seconds: float = 0.0
    raised_at: str = ""
    """The public thread in which others raised the item, or an empty string."""
