"""Find text that equates real-time mode with continuous processing, or limits both alike."""

import re

from spark_rtm.lint.prose.certainty import is_present
from spark_rtm.lint.prose.polarity import plain
from spark_rtm.lint.prose.relations.signs import NO, W, is_denied, marked

CONTINUOUS = re.compile(
    r"\.?\btrigger\(\s*continuous\b[^()]{0,40}\)|\bTrigger\.Continuous(?:\([^()]{0,40}\))?|"
    r"\bcontinuous\s*=\s*[\"'][^\"']{0,40}[\"']|"
    r"\b(?:the )?(?:old |former |experimental |good old )?continuous (?:stream )?(?:processing|mode|"
    r"triggers?|execution|"
    r"engine)(?: (?:mode|engine))?\b",
    re.IGNORECASE,
)
LIMITS = r"(?:limits?|limitations?|restrictions?|constraints?|weakness\w*|shortcomings?|drawbacks?|rules|guarantees?)"
ALIKE = r"(?:same|identical|synonym\w*|interchangeable|equivalent|twins|one and the)"
FEW = r"(?:only|just|merely|solely|nothing but|no more than)"
ACCEPTS = (
    r"(?:handles?|supports?|accepts?|permits?|allows?|knows?|offers?|understands?|runs?|processes|copes? with|"
    r"is (?:limited|restricted|confined) to|can (?:do|run|handle|process))"
)
IS_CONTINUOUS = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?:@ and(?: the)? #|# and(?: the)? @)(?:{W}){{1,6}}? {ALIKE}\b",
        (
            rf"@(?:{W}){{0,6}}? (?:inherits?|shares?|has|have|keeps?|takes over|comes with|suffers from|"
            rf"is subject to)(?:{W}){{0,4}}?"
            rf" {LIMITS} (?:of|as|from|with|like)(?: the)? #"
        ),
        (
            rf"@(?:{W}){{0,3}}? {ACCEPTS} {FEW}\b[^@#]{{0,100}}?(?:like|as|same as|since it is|"
            rf"because it is)(?: in| with)? #"
        ),
        rf"(?:like|as|same as)(?: in| with)? #,? @(?:{W}){{0,3}}? {ACCEPTS} {FEW}\b",
        (
            rf"@(?:{W}){{0,3}}? (?:runs|works|operates|behaves|executes|is (?:implemented|built|based|"
            rf"realized|running))(?:{W}){{0,3}}?"
            r" (?:as|like|on|of|by|with|through|via|in) #"
        ),
        (
            r"@,? (?:is|means|equals)(?: \w+){0,2}? (?:nothing (?:but|other than|more than|else than)|"
            r"no more than|merely|still|"
            r"in fact|actually|really|just|simply|essentially) #(?= (?:under|with|by|in|and|from|that|which|"
            r"since)\b|\W*$|\s*[,.;:(])"
        ),
        (
            r"@(?: \w+){0,3}? (?:rebrand\w*|brand name|marketing name|alias|nickname|label|fancy name|"
            r"other word)(?: \w+){0,2}? #"
        ),
    )
]
KINSHIP = re.compile(
    r"\b(?:same|synonym\w*|is|means|name\w*|label|feature|based|built|builds|sits|rests|inherit\w*|"
    r"limit\w*|restrict\w*|only|"
    r"just|merely|map|stateless|like|relies|powered|uses|runs|kin|variant|version|brand\w*|puts|"
    r"gives|enables|starts|makes|"
    r"see|get|switch\w*|have)\b|^\W*[@#]: [@#]\W*$",
    re.IGNORECASE,
)
STRANGE = re.compile(
    r"\b(?:no|not|never|without|unlike|differ\w*|than|both|compar\w*|versus|vs|contrast|beyond|"
    r"instead|migrat\w*|replac\w*|"
    r"successor|predecessor|neither|nor|nothing|cannot|calls?|review\w*|existed|exists|handled|resembl\w*|remind\w*|"
    r"nobody|however|but|while|whereas|although|takes?|taken|where|when|done|too|also|or|beside|next|between|mix\w*|"
    r"wrong|stop|avoid|choose|alternatives?|modes|triggers|other|older|experimental|since 2|job|schedule)\b|n't\b",
    re.IGNORECASE,
)


FOLLOWS = re.compile(
    r"\W*(?:$|[,.;:)]|(?:and|which|that|under|with|in|from|by|internally|for|then|so|is|gives|puts|"
    r"enables|starts|are)\b)"
)
MAX_DISTANCE = 70
IS_SET = re.compile(
    r"\b(?:get|enable|start|use|activate|want|run|for)(?: \w+){0,3}? @,?(?: \w+){0,2}? (?:pass|set|"
    r"write|choose|add|give|specify) #",
    re.IGNORECASE,
)
NAMES_MODE = re.compile(r"\bcontinuous (?:processing|mode|execution|engine)", re.IGNORECASE)
SEPARATES = re.compile(
    r"\b(?:not|never|but|while|whereas|instead|both|goes|differ\w*|aggregations|it|latter|former)\b|n't\b",
    re.IGNORECASE,
)
LABELLED = re.compile(r"\W*[@#]: [@#]\W*")
MAX_TAIL = 60


def _is_kin(unit: str) -> bool:
    """Return whether a sentence affirms a relation between both sides, and no sign separates them."""
    first, last = sorted((unit.find("@"), unit.find("#")))
    if first < 0 or last - first > MAX_DISTANCE or not FOLLOWS.match(unit, unit.find("#") + 1):
        return False
    if LABELLED.match(unit) and not LABELLED.fullmatch(unit):
        return False
    until, tail = unit[: last + 1], unit[last + 1 : last + 1 + MAX_TAIL]
    is_kin = KINSHIP.search(until + tail) and is_present(unit)
    return bool(is_kin and not STRANGE.search(until) and not SEPARATES.search(tail))


def equates_continuous(text: str) -> bool:
    """Return whether a sentence says that real-time mode is continuous processing, or limited in the same way."""
    text = plain(text)
    unit = marked(text, CONTINUOUS)
    if NO.search(unit):
        return False
    matches = [match for pattern in IS_CONTINUOUS if (match := pattern.search(unit))]
    if not NAMES_MODE.search(text) and (match := IS_SET.search(unit)):
        matches.append(match)
    return any(not is_denied(unit, match) and is_present(match[0]) for match in matches) or _is_kin(unit)
