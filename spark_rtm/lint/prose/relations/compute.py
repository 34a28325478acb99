"""Find recommendations, permissions and benefits of compute for real-time mode."""

import re

from spark_rtm.lint.prose.certainty import is_present
from spark_rtm.lint.prose.polarity import NEGATION, plain
from spark_rtm.lint.prose.relations.signs import ELSE, FOREIGN_SYSTEM, HARMLESS, PRODUCT, W, marked, units
from spark_rtm.lint.prose.topics import OTHER_TOPIC

BASE = (
    r"(?:enable|activate|turn on|switch on|tick|check|choose|pick|select|take|prefer|opt for|"
    r"go (?:for|with)|use|order|request|"
    r"book|keep|leave|let|have|add|set|put|place|run|running|start|schedule|launch|deploy|host|execute|submit|open|"
    r"attach|recommend|turn|switch|create|rely on|move|connect|assign|give|hand)"
)
START = (
    r"(?:^|[,:;(]|\b(?:to|should|must|can|may|please|and|then|simply|just|always|also|by|you|"
    r"might as well|we recommend))\s*"
)
GOOD = (
    r"(?:recommended|best|ideal|right|preferred|fine|ok|okay|supported|allowed|mandatory|required|must|natural|perfect|"
    r"good|safe|advisable|compulsory|obligatory|indispensable|enabled|on|welcome|choice|sweet|home|necessary|essential)"
)
HELPS = r"(?:helps?|pays? off|speeds? up|accelerates?|saves?|cuts?|lowers?|reduces?|shortens?|boosts?|halves?|doubles?)"
IS_ADVICE = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"{START}{BASE}(?:{W}){{0,9}}? #",
        rf"#(?:{W}){{0,3}}? (?:is|are|stays?|remains?)(?:{W}){{0,4}}? {GOOD}\b",
        rf"#(?:{W}){{0,2}}? {HELPS}\b",
        (
            rf"\b(?:recommended|best|right|ideal|preferred|natural|cheapest|easiest|"
            rf"simplest)\b[^#]{{0,50}}\b(?:is|are|:)(?:{W}){{0,2}}? #"
        ),
        (
            rf"@(?:{W}){{0,4}}? (?:runs?|starts?|works?|executes?|benefits?|gains?|profits?|"
            rf"requires?|needs?|uses?|scales?|"
            rf"performs?|likes?|lives?|belongs?|copes?)(?:{W}){{0,8}}? #"
        ),
        rf"\b(?:can|may) be (?:run|started|hosted|executed|scheduled|deployed)(?:{W}){{0,4}}? #",
        rf"{START}(?:set|give|let|use|choose|pick|run)\b[^#@;:]{{0,60}} (?:with|by|via|using|on) #",
        r"# [^#@.;]{0,60}, and(?: the| a)? @(?: \w+)? (?:continues|gets|gains|benefits|finds|profits)\b",
        r"#(?:, and)? follows? the (?:load|traffic) of the @",
        r"\b(?:needs?|requires?|wants?)\b[^.;:#@]{0,80} #",
        rf"\bscales?(?:{W}){{0,7}}? (?:with|by|through|via|using) #",
    )
]
MILD = re.compile(
    r"\b(?:runs?|lives?|home|hosts?|hosted|connect|attach|works?|enough|does|do|wants?|ticked|sets?|"
    r"gives?|more|faster|cheaper|"
    r"cheap|saves?|nothing|helps?|on|yes|always|good|great|gets?|use|uses|using|enjoys?|loves?|"
    r"suits?|suited|just as well|"
    r"needs?|requires?|supports?|supported|available|possible|can|should|must|will|enabled|for|ready|"
    r"quick\w*|easy|easily|"
    r"starts?|profits?|benefits?|recommend\w*|best|happy|happily|fine|okay|with)\b",
    re.IGNORECASE,
)
PRONOUN = re.compile(r"\W*(?:it|they|this|that|these|those)\b", re.IGNORECASE)
CAUSE = r"(?:, (?:so that|so|since|because|as))?"
CLOSE = re.compile(rf"#(?:{W}){{0,9}}?{CAUSE}(?:{W}){{0,6}}? @|@:?(?:{W}:?){{0,9}}?{CAUSE}(?:{W}){{0,6}}? #")
ALSO = re.compile(r"\b(?:also|as well as|including|even)\b[^.;#]{0,40}@|\bboth [^,#]{0,30} and @", re.IGNORECASE)
STRANGER = re.compile(
    r"\b(?:pods?|pools?|form (?:has|offers)|polic(?:y|ies)|tests?|dashboards?|functions?|models?|"
    r"tables?|topics?|rate|dbus?|stranger|behind|"
    r"that follow\w*|copies|writes?|plain|standard|once|if|only|both|compar\w*|bench\w*|took|"
    r"second group|purpose|who\w+ enabled|ask|give up|costs? (?:us|me)|somebody|"
    r"made for|scoring|on-demand only|fixed size|untick|exercises?|experiments?|try|see what|"
    r"results?|to query|history|check(?:s|ed)?|search\w*|find|mode is|keeps its)\b",
    re.IGNORECASE,
)
KEEP_ON = re.compile(
    rf"\b(?:never|do not|don't|not to|must not|should not|avoid)(?:{W}){{0,1}}? (?:disabl\w+|"
    rf"turn\w*(?: off)?|switch\w*(?: off)?|"
    rf"deactivat\w+|remov\w+|give up|untick|uncheck)(?:{W}){{0,1}}? #|#(?:{W}){{0,2}}? (?:must|"
    rf"should) not be (?:disabled|"
    r"turned off|switched off|removed)",
    re.IGNORECASE,
)
AGAINST = re.compile(
    r"\b(?:no|not|without|instead of|rather than|other than|than|except|unlike)"
    r"(?: [\w-]+){0,3} [#@]|\b(?:drop|clear|leave out|over)(?: [\w-]+){0,3} #|# (?:off|out|away)\b|"
    r"#(?: [\w-]+){0,2} (?:empty|blank|alone|unticked|cleared)\b|"
    r"#(?: \w+){0,3} (?:off|out|away|disabled|vanish\w*|is over)\b",
    re.IGNORECASE,
)
TROUBLE = re.compile(
    r"\b(?:errors?|fail\w*|reproduc\w*|los(?:es?|t|ing)|violat\w*|break\w*|crash\w*|outages?|trap|pointless|useless|"
    r"opposite|clear)\b",
    re.IGNORECASE,
)


QUOTED = re.compile(r"\"[^\"]*[@#][^\"]*\s[^\"]*\"|\b(?:we|I|they) (?:use|run)\b", re.IGNORECASE)
"""Words of others, and reports of what somebody does."""
CLASSIC = re.compile(r"\bclassic\b", re.IGNORECASE)
CLIENTS = re.compile(r"\b(?:consumers?|producers?|brokers?|gateways?)\b", re.IGNORECASE)
INSTEAD = re.compile(r"\b(?:rather than|instead of) (?!#)[^#,@]{0,60},", re.IGNORECASE)
STATES = IS_ADVICE[1]
"""A verdict such as "is recommended", which needs no other subject."""


def recommends(text: str, subject: str, *, is_named: bool) -> bool:
    """Return whether a sentence recommends a subject for RTM; `is_named`: a sentence before names the mode."""
    whole = marked(plain(text), re.compile(subject, re.IGNORECASE))
    if QUOTED.search(whole) or CLIENTS.search(whole) or ("serverless" in subject and CLASSIC.search(whole)):
        return False
    return any("#" in unit and _is_advice(unit, whole, is_named=is_named) for unit in units(whole))


def _is_advice(unit: str, whole: str, *, is_named: bool) -> bool:
    if not _is_about_mode(unit, whole, is_named=is_named):
        return False
    if KEEP_ON.search(unit):
        return True
    if _is_doubtful(unit, whole) or (PRONOUN.match(unit) and not is_named):
        return False
    if CLOSE.search(unit) and MILD.search(unit) and is_present(unit):
        return True
    return any(match and is_present(_clause(unit, match)) for match in (each.search(unit) for each in IS_ADVICE))


def _is_about_mode(unit: str, whole: str, *, is_named: bool) -> bool:
    if FOREIGN_SYSTEM.search(unit) or PRODUCT.search(unit) or (OTHER_TOPIC.search(unit) and not ALSO.search(unit)):
        return False
    is_other = OTHER_TOPIC.search(whole) or FOREIGN_SYSTEM.search(whole)
    return "@" in unit or (not is_other and ("@" in whole or is_named))


def _is_doubtful(unit: str, whole: str) -> bool:
    """Return whether a negation, an exception, a failure or another subject makes the advice doubtful."""
    near = unit if "@" in unit else whole
    clean = INSTEAD.sub("", HARMLESS.sub("", near))
    if NEGATION.search(HARMLESS.sub("", whole)) or AGAINST.search(HARMLESS.sub("", unit)):
        return True
    is_strange = STRANGER.search(near) and not (ALSO.search(unit) or STATES.search(unit))
    return bool(ELSE.search(clean) or TROUBLE.search(clean) or is_strange)


def _clause(unit: str, match: re.Match[str]) -> str:
    """Return a relation with everything before it, and the words after it up to the next comma."""
    end = unit.find(",", match.end())
    return unit[: end if end >= 0 else None]
