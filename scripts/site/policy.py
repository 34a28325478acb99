"""Write into the content security policy of a page the hash of each inline script that the theme has written there."""

import base64
import hashlib
import re

MARK = "inline-scripts"
INLINE_SCRIPT = re.compile(r"<script(?![^>]*\ssrc=)(?![^>]*application/json)[^>]*>(.*?)</script>", re.DOTALL)


def hashes(text: str) -> set[str]:
    """Return the hash of each inline script of a page, in the form of a policy."""
    digests = (hashlib.sha256(script.encode()).digest() for script in INLINE_SCRIPT.findall(text))
    return {f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests}


def with_hashes(text: str) -> str:
    """Return a page whose policy allows its inline scripts. One of them holds the way to the root of the site."""
    return text.replace(MARK, " ".join(sorted(hashes(text))), 1)
