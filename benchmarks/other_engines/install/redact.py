"""
Remove URLs, host names and absolute paths from a message before it is published.

Published results state the reason why an engine is missing. The reason may contain the address of a private mirror.
"""

import re

ADDRESSES = re.compile(r"\w+://[^\s'\",)]+|(?<=host=)'[^']*'|(?<![\w.])(?:/[^\s/'\",:;)]+){2,}/?")
REPLACEMENT = "(address)"


def without_addresses(text: str) -> str:
    """Return the text with each address replaced by a placeholder."""
    return ADDRESSES.sub(REPLACEMENT, text)
