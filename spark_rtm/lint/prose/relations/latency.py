"""Find a latency that decides who may use real-time mode."""

import re

from spark_rtm.lint.prose.certainty import is_present
from spark_rtm.lint.prose.polarity import plain
from spark_rtm.lint.prose.relations.signs import PRODUCT, W, marked, units

NUMBER = re.compile(
    r"(?:~|about )?\b(?:[1-9]\d\d\s*-?(?:ms\b|milliseconds?\b)|0?\.\d+\s*(?:s|seconds?)\b|half a second\b)",
    re.IGNORECASE,
)
UNDER = (
    r"(?:(?:under|below|(?:less|lower|faster|shorter|smaller|tighter|stricter) than|at most|within|up to|no more than|"
    r"maximum of|sub-?|<=?|\u2264)\s*#|# (?:or|and) (?:less|lower|below|faster|under|better))"
)
OVER = (
    r"(?:(?:above|over|beyond|(?:more|longer|slower|higher|looser) than|exceed\w*|>=?|\u2265) #|from # (?:up\w*|on\w*)|"
    r"# (?:or|and) (?:more|above|longer|slower|higher|up\w*|looser)|\b(?:looser|slower|longer|higher)\b)"
)
RESTRICTED = (
    r"\b(?:only|solely|exclusively|merely|just (?:for|if|when)|reserved|restricted|limited|confined|qualif\w+|eligible|"
    r"entitled|admit\w*|admission|permitted|accepted|intended|meant)\b"
)
MUST = (
    r"\b(?:mandatory|compulsory|obligatory|required|prescribed|must|has to|have to|shall|stays?|"
    r"belongs?|goes|only choice|only option|"
    r"rule)\b"
)
BANNED = re.compile(
    r"\brules? (?:it|@) out\b|"
    r"@[^@]{0,60}\b(?:must not|may not|can ?not|not (?:be )?(?:allowed|permitted|used)|forbidden|prohibited|"
    r"ruled out|off limits|out of the question|disallowed|banned|closed|rules (?:it|@) out|"
    r"not (?:meant|intended|for)|waste)\b|\b(?:do not|don't|never|must not|may not|"
    r"cannot) (?:use|choose|pick|take|run|enable)[^@]{0,30}@",
    re.IGNORECASE,
)
LINE = re.compile(
    r"\b(?:line|boundary|border|limit|threshold|cut-?off) (?:is |lies |runs )?(?:at|of|is) #", re.IGNORECASE
)
ASSIGNS = re.compile(
    r"\b(?:means|belongs?|shall|otherwise|everything|anything|everybody|all others?|the rest|tick|"
    r"choose|pick|reserved|goes to|"
    r"any (?:larger|other)|slower|looser)\b",
    re.IGNORECASE,
)
WORKLOAD = re.compile(
    r"\b(?:workloads?|quer(?:y|ies)|streams?|use cases?|teams?|jobs?|applications?|micro-?batch)\b", re.IGNORECASE
)
OBSERVED = re.compile(
    r":\s*no\W*$|\b(?:measured|observed|p\d\d|median|alarms?|alerts?|page somebody|timeouts?|"
    r"results?|benchmarks?|there is no|"
    r"no (?:bound|limit|source)|took|takes|answers?|receives?|stays? (?:below|under|within))\b",
    re.IGNORECASE,
)


FOR_UNDER = rf"@(?:{W}){{0,3}}?(?: is| are|:)(?:{W}){{0,3}}? for(?:{W}){{0,5}}? {UNDER}"
RESTRICTS = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (rf"{RESTRICTED}[^,#]{{0,80}}?{UNDER}", rf"{UNDER}[^,#]{{0,60}}?{RESTRICTED}", FOR_UNDER)
]
IS_OVER = re.compile(OVER, re.IGNORECASE)
IS_COMPARED = re.compile(f"{UNDER}|{OVER}|{LINE.pattern}", re.IGNORECASE)
IS_FORCED = re.compile(rf"\bmicro-?batch\b[^.]{{0,40}}?{MUST}|{MUST}[^.]{{0,30}}?\bmicro-?batch\b", re.IGNORECASE)
DENIED = re.compile(r"\b(?:not|never|no|hardly)(?: \w+){0,2} *$", re.IGNORECASE)
MICRO_BATCH = re.compile(r"\bmicro-?batch\b", re.IGNORECASE)
SHARED = re.compile(r"\b(?:cannot|too|also|as well|even|both)\b", re.IGNORECASE)


def restricts_latency(text: str, *, is_named: bool) -> bool:
    """Return whether a sentence allows real-time mode only below a latency; `is_named`: the context names the mode."""
    text = marked(plain(text), NUMBER)
    if "#" not in text or OBSERVED.search(text) or PRODUCT.search(text):
        return False
    about = [unit for unit in units(text) if "@" in unit or (is_named and WORKLOAD.search(unit))]
    is_restricted = any(is_present(unit) and (_is_restricted(unit) or _is_excluded(unit)) for unit in about)
    return is_restricted or _draws_line(text) or bool("@" in text and LINE.search(text) and is_present(text))


def _is_restricted(unit: str) -> bool:
    matches = (match for pattern in RESTRICTS if (match := pattern.search(unit)))
    return any(not DENIED.search(unit[: match.start()]) for match in matches)


def _is_excluded(unit: str) -> bool:
    return bool("#" in unit and IS_OVER.search(unit) and (IS_FORCED.search(unit) or BANNED.search(unit)))


def _draws_line(text: str) -> bool:
    """Return whether a sentence with one number assigns latencies to real-time mode and to micro-batch mode."""
    is_comparison = IS_COMPARED.search(text) and ASSIGNS.search(text) and MICRO_BATCH.search(text)
    return bool(text.count("#") == 1 and "@" in text and is_comparison and is_present(text) and not SHARED.search(text))
