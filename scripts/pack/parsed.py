"""
Parse each page only once, because several checks need the same parts of it.

The checks share the cached results and must not change them.
"""

from functools import lru_cache

from spark_rtm.text import markdown

MAX_TEXTS = 500
"""The maximum number of cached texts, which is higher than the number of pages."""

links = lru_cache(MAX_TEXTS)(markdown.links)
headings = lru_cache(MAX_TEXTS)(markdown.headings)


@lru_cache(MAX_TEXTS)
def anchors(text: str) -> frozenset[str]:
    """Return the anchors of a page."""
    return frozenset(heading.anchor for heading in headings(text))
