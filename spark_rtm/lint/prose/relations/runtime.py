"""Find versions of the runtime that a text calls sufficient for real-time mode."""

import re

from spark_rtm.lint.prose.certainty import is_present
from spark_rtm.lint.prose.polarity import NEGATION, plain
from spark_rtm.lint.prose.relations.signs import FOREIGN_SYSTEM, HARMLESS, NO, UNIT, W, marked, units
from spark_rtm.lint.prose.topics import OTHER_TOPIC

HAS = (
    r"(?:where|which|that|with|has|have|ships?|includes?|supports?|offers?|contains?|brings?|knows?|"
    r"runs?|because|since|"
    r"as|for)"
)
KEEPS = r"(?:stay|stays|remain|remains|keep|keeps|enough|sufficient|upgrade|unnecessary|fine|wait)"
ENOUGH = re.compile(
    r"\b(?:works?|enough|at least|since|from|up(?:wards?)?|already|available|needs?|requires?|"
    r"required|minimum|ok|okay|fine|"
    r"suffices?|sufficient|can|where|or (?:newer|later|above|higher)|supports?|supported|ready|safe)\b",
    re.IGNORECASE,
)
FEATURE = re.compile(
    r"\b(?:connectors?|drivers?|jars?|feeds|newer|as long as|rocksdb|delta|liquid|changelog|unity|"
    r"loader|photon|state store|library|udfs?|table|reads|also|as well|too|then|"
    r"moves?|rest|training|course)\b",
    re.IGNORECASE,
)
IS_SUFFICIENT = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        (
            rf"#,?(?:{W}){{0,3}}? {HAS}(?:{W}){{0,3}}? @(?:{W}){{0,4}}? (?:available|there|works|runs|"
            rf"supported|exists|included)\b"
        ),
        (
            rf"#(?: already)? (?:ships?|includes?|supports?|offers?|contains?|brings?|knows?|comes with|runs?|"
            rf"has)(?:{W}){{0,3}}? @"
        ),
        rf"\b{KEEPS}\b[^@#]{{0,40}}#[^@#]{{0,60}}\b(?:since|as|because|first|already|where)\b[^@#]{{0,40}}@",
        r"#[^@#]{0,50}\b(?:that|this|it|which) (?:is|was) the (?:first|oldest|earliest|lowest)\b[^@#]{0,30}@",
        rf"#(?:{W}){{0,3}}? (?:first|oldest|earliest|lowest)(?:{W}){{0,5}}? @",
        (
            rf"\b(?:first|oldest|earliest|lowest|minimum|smallest)(?:{W}){{0,6}}? @(?:{W}){{0,2}}?,? (?:is|:|"
            rf"=|are)(?:{W}){{0,2}}? #"
        ),
        (
            rf"@(?:{W}){{0,5}}? (?:since|from|as of|first|starting|debut\w*|introduced|ships|shipped|arrived|"
            rf"landed|appeared|"
            rf"exists?|available|works|supported)(?:{W}){{0,3}}? #"
        ),
        (
            rf"\b(?:includ|introduc|add|ship|bring|brought|releas)\w*(?:{W}){{0,2}}? @(?:{W}){{0,3}}? (?:in|"
            rf"with)(?:{W}){{0,2}}? #"
        ),
        (
            rf"\b(?:get|have|use|run|start|enable|try)(?:{W}){{0,2}}? @ (?:with|on|in|from)(?:{W}){{0,3}}? #,?(?:{W})?"
            r" (?:on\w*|up\w*|or|and|already|LTS)\b"
        ),
    )
]


AGAINST = re.compile(
    r"\b(?:(?:without|before|until|older than|below|above|nor|than|must|as long as)\b|no @)", re.IGNORECASE
)
ANSWER = re.compile(r"\W*(?:\w+ )?# (?:will do|is enough|suffices|is fine)", re.IGNORECASE)
CLOSE = re.compile(rf"#,?(?:{W},?){{0,12}}? @|@,?(?:{W}[,:]?){{0,18}}? #")


def suffices(text: str, version: str, *, is_named: bool) -> bool:
    """Return whether a sentence calls a version sufficient for RTM; `is_named`: the context names the mode."""
    if NO.search(text):
        return False
    whole = marked(plain(text), re.compile(re.escape(version) + r"(?:\s*LTS\b)?"))
    certain = [unit for unit in (*UNIT.split(whole), *units(whole), whole) if _is_certain(unit)]
    is_answer = is_named and "@" not in whole
    return any(
        (is_answer and ANSWER.match(unit)) or any(each.search(unit) for each in IS_SUFFICIENT) or _is_affirmed(unit)
        for unit in certain
    )


def _is_certain(unit: str) -> bool:
    is_other = OTHER_TOPIC.search(unit) or FOREIGN_SYSTEM.search(unit) or AGAINST.search(unit)
    return (
        not is_other and not NEGATION.search(HARMLESS.sub("", unit)) and is_present(unit.replace("first version", ""))
    )


def _is_affirmed(unit: str) -> bool:
    """Return whether a version and real-time mode stand close together, with a word that makes it sufficient."""
    return bool(CLOSE.search(unit) and ENOUGH.search(unit) and not FEATURE.search(unit))
