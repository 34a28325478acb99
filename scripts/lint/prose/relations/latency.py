"""Find a latency that decides who may use real-time mode."""

import re

from scripts.lint.prose.certainty import is_present
from scripts.lint.prose.polarity import plain
from scripts.lint.prose.relations.signs import PRODUCT, W, marked, units

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
    r"\b(?:mandatory|compulsory|obligatory|required|prescribed|must|has to|have to|shall|stays?|belongs?|goes|only choice|only option|"
    r"rule)\b"
)
BANNED = re.compile(
    r"\brules? (?:it|@) out\b|"
    r"@[^@]{0,60}\b(?:must not|may not|can ?not|not (?:be )?(?:allowed|permitted|used)|forbidden|prohibited|"
    r"ruled out|off limits|out of the question|disallowed|banned|closed|rules (?:it|@) out|not (?:meant|intended|for)|waste)\b|\b(?:do not|don't|never|must not|may not|"
    r"cannot) (?:use|choose|pick|take|run|enable)[^@]{0,30}@",
    re.IGNORECASE,
)
LINE = re.compile(
    r"\b(?:line|boundary|border|limit|threshold|cut-?off) (?:is |lies |runs )?(?:at|of|is) #", re.IGNORECASE
)
ASSIGNS = re.compile(
    r"\b(?:means|belongs?|shall|otherwise|everything|anything|everybody|all others?|the rest|tick|choose|pick|reserved|goes to|"
    r"any (?:larger|other)|slower|looser)\b",
    re.IGNORECASE,
)
WORKLOAD = re.compile(
    r"\b(?:workloads?|quer(?:y|ies)|streams?|use cases?|teams?|jobs?|applications?|micro-?batch)\b", re.IGNORECASE
)
OBSERVED = re.compile(
    r":\s*no\W*$|\b(?:measured|observed|p\d\d|median|alarms?|alerts?|page somebody|timeouts?|results?|benchmarks?|there is no|"
    r"no (?:bound|limit|source)|took|takes|answers?|receives?|stays? (?:below|under|within))\b",
    re.IGNORECASE,
)


FOR_UNDER = rf"@(?:{W}){{0,3}}?(?: is| are|:)(?:{W}){{0,3}}? for(?:{W}){{0,5}}? {UNDER}"


def restricts_latency(text: str, *, is_named: bool) -> bool:
    """Return whether a sentence allows real-time mode only below a latency; `is_named`: the context names the mode."""
    text = marked(plain(text), NUMBER)
    if "#" not in text or OBSERVED.search(text) or PRODUCT.search(text):
        return False
    for unit in units(text):
        is_named_here = "@" in unit or (is_named and WORKLOAD.search(unit))
        if not is_named_here or not is_present(unit):
            continue
        for order in (rf"{RESTRICTED}[^,#]{{0,80}}?{UNDER}", rf"{UNDER}[^,#]{{0,60}}?{RESTRICTED}", FOR_UNDER):
            match = re.search(order, unit, re.IGNORECASE)
            if match and not re.search(
                r"\b(?:not|never|no|hardly)(?: \w+){0,2} *$", unit[: match.start()], re.IGNORECASE
            ):
                return True
        if "#" in unit and re.search(OVER, unit, re.IGNORECASE) and _excludes(unit):
            return True
    return _draws_line(text) or bool("@" in text and LINE.search(text) and is_present(text))


def _draws_line(text: str) -> bool:
    """Return whether a sentence with one number assigns latencies to real-time mode and to micro-batch mode."""
    return bool(
        text.count("#") == 1
        and "@" in text
        and re.search(r"\bmicro-?batch\b", text, re.IGNORECASE)
        and (re.search(UNDER, text, re.IGNORECASE) or re.search(OVER, text, re.IGNORECASE) or LINE.search(text))
        and ASSIGNS.search(text)
        and is_present(text)
        and not re.search(r"\b(?:cannot|too|also|as well|even|both)\b", text, re.IGNORECASE)
    )


def _excludes(unit: str) -> bool:
    is_forced = re.search(
        rf"\bmicro-?batch\b[^.]{{0,40}}?{MUST}|{MUST}[^.]{{0,30}}?\bmicro-?batch\b", unit, re.IGNORECASE
    )
    return bool(is_forced or BANNED.search(unit))
