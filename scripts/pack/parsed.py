"""
Parse the parts of a page once per text: several checks and generated parts need the same links, headings and fences.

The results are shared, so do not change them.
"""

from functools import lru_cache

from spark_rtm.text import markdown

MAX_TEXTS = 500
"""More than the pages of the pack."""

links = lru_cache(MAX_TEXTS)(markdown.links)
headings = lru_cache(MAX_TEXTS)(markdown.headings)
fences = lru_cache(MAX_TEXTS)(markdown.fences)


@lru_cache(MAX_TEXTS)
def anchors(text: str) -> frozenset[str]:
    """Return the anchors of a page to which links can refer."""
    return frozenset(heading.anchor for heading in headings(text))
