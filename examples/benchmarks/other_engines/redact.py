"""
Take addresses and folders of this machine out of a message before it is kept.

The output of a tool arrives, the same without URLs, host names and absolute paths leaves.
What was measured is published with the reason why an engine is missing, and a mirror's address is nobody's business.
"""

import re

ADDRESSES = re.compile(r"\w+://[^\s'\",)]+|(?<=host=)'[^']*'|(?<![\w.])(?:/[^\s/'\",:;)]+){2,}/?")
HIDDEN = "(address)"


def without_addresses(text: str) -> str:
    """Replace each address."""
    return ADDRESSES.sub(HIDDEN, text)
