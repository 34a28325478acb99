"""
Find the core of a claim, whatever the other words of its sentence are.

A core is a relation between real-time mode and something else, such as "runs on serverless" or "only below 500 ms".
In the texts that the patterns see, `@` stands for real-time mode and `#` for the other side of the relation.
"""

import re
from collections.abc import Iterator

from scripts.lint.prose.certainty import SOFT, is_present
from scripts.lint.prose.polarity import NEGATION, plain
from scripts.lint.prose.topics import OTHER_TOPIC, TOPIC

MODE = re.compile(
    rf"\.?\btrigger\(\s*realTime[^()]{{0,60}}\)|\brealTime\s*=\s*[\"'][^\"']{{0,30}}[\"']|"
    rf"\breal[- ]time (?:engine|stages?|operators?|tasks?|streams?)\b|{TOPIC.pattern}",
    re.IGNORECASE,
)
UNIT = re.compile(
    r"[;\u2013\u2014]|:(?=\s)|\.\s|\b(?:but|whereas|while|although|though|however)\b", re.IGNORECASE
)
W = r"(?:\s+(?:@|[\w.'/-]+))"
"""One word with the space before it."""
HARMLESS = re.compile(
    r"\b(?:(?:do|does|need|must|did|is|are|was) not (?:have to|need to|necessary|needed|required)|don't (?:have|need) to|"
    r"no (?:need|reason) to|need not|not (?:only|just|necessary|needed|required)|unnecessary|no upgrades?|pays? off)\b",
    re.IGNORECASE,
)
"""Negations that say that something is superfluous."""
ELSE = re.compile(
    r"\b(?:others?|rest|everything|people|explor\w+|another|elsewhere|ad-?hoc|hourly|daily|merges?|apart|besides?|"
    r"except|than|instead|own|neither|unless|although|despite|before|until|as soon as)\b",
    re.IGNORECASE,
)
"""Signs that a recommendation concerns something else than real-time mode."""
FOREIGN = re.compile(r"\b(?:consumers?|producers?|brokers?|databases?|gateways?|exchanges?|flink|kubernetes)\b", re.IGNORECASE)

NO = re.compile(r":\s*no\W*$", re.IGNORECASE)
"""The end of a question with its answer."""
PRODUCT = re.compile(r"\b(?:librar(?:y|ies)|products?|games?|packages?|sdk|websites?|frontends?|backends?)\b", re.IGNORECASE)
"""Things that may have a real-time mode of their own."""

MAX_LABEL = 5


def units(text: str) -> list[str]:
    """Return the parts of a sentence that can be true or false alone."""
    label, colon, rest = text.partition(": ")
    if colon and len(label.split()) <= MAX_LABEL:
        first, *others = units(rest)
        return [f"{label}: {first}", *others] if first else [text]
    return [part for part in UNIT.split(text) if part.strip()] or [""]


def _marked(text: str, other: re.Pattern[str]) -> str:
    """Return a text with `@` for real-time mode and `#` for the other side."""
    text = text.replace("@", " ").replace("#", " ")
    text = SOFT.sub("", text)
    text = other.sub(lambda match: " # " if match[0] else "", text)
    text = re.sub(r"\"\s*([#@]|\w+)\s*\"", r"\1", MODE.sub(" @ ", text)).replace("=", " ")
    return re.sub(r" (?=[,.;:)])", "", " ".join(text.split()))


def _is_denied(text: str, match: re.Match[str]) -> bool:
    """Return whether the relation, or the clause before it, contains a negation."""
    begin = max(text.rfind(mark, 0, match.start()) for mark in ",;:(") + 1
    span = HARMLESS.sub("", text[begin : match.end()])
    return bool(NEGATION.search(span) or re.search(r"\b(?:unlike|differ\w*|no|nothing (?:of|like)|without)\b", span, re.I))


# Latency: a number below one second decides who may use real-time mode.

NUMBER = re.compile(
    r"(?:~|about )?\b(?:[1-9]\d\d\s*-?(?:ms\b|milliseconds?\b)|0?\.\d+\s*(?:s|seconds?)\b|half a second\b)", re.IGNORECASE
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
LINE = re.compile(r"\b(?:line|boundary|border|limit|threshold|cut-?off) (?:is |lies |runs )?(?:at|of|is) #", re.IGNORECASE)
ASSIGNS = re.compile(
    r"\b(?:means|belongs?|shall|otherwise|everything|anything|everybody|all others?|the rest|tick|choose|pick|reserved|goes to|"
    r"any (?:larger|other)|slower|looser)\b",
    re.IGNORECASE,
)
WORKLOAD = re.compile(r"\b(?:workloads?|quer(?:y|ies)|streams?|use cases?|teams?|jobs?|applications?|micro-?batch)\b", re.IGNORECASE)
OBSERVED = re.compile(
    r":\s*no\W*$|\b(?:measured|observed|p\d\d|median|alarms?|alerts?|page somebody|timeouts?|results?|benchmarks?|there is no|"
    r"no (?:bound|limit|source)|took|takes|answers?|receives?|stays? (?:below|under|within))\b",
    re.IGNORECASE,
)


FOR_UNDER = rf"@(?:{W}){{0,3}}?(?: is| are|:)(?:{W}){{0,3}}? for(?:{W}){{0,5}}? {UNDER}"


def restricts_latency(text: str, *, is_named: bool) -> bool:
    """Return whether a sentence allows real-time mode only below a latency; `is_named`: the context names the mode."""
    text = _marked(plain(text), NUMBER)
    if "#" not in text or OBSERVED.search(text) or PRODUCT.search(text):
        return False
    for unit in units(text):
        is_named_here = "@" in unit or (is_named and WORKLOAD.search(unit))
        if not is_named_here or not is_present(unit):
            continue
        for order in (rf"{RESTRICTED}[^,#]{{0,80}}?{UNDER}", rf"{UNDER}[^,#]{{0,60}}?{RESTRICTED}", FOR_UNDER):
            match = re.search(order, unit, re.IGNORECASE)
            if match and not re.search(r"\b(?:not|never|no|hardly)(?: \w+){0,2} *$", unit[: match.start()], re.IGNORECASE):
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
    is_forced = re.search(rf"\bmicro-?batch\b[^.]{{0,40}}?{MUST}|{MUST}[^.]{{0,30}}?\bmicro-?batch\b", unit, re.IGNORECASE)
    return bool(is_forced or BANNED.search(unit))


# Continuous processing: the same thing, the same limits, or the same trigger.

CONTINUOUS = re.compile(
    r"\.?\btrigger\(\s*continuous\b[^()]{0,40}\)|\bTrigger\.Continuous(?:\([^()]{0,40}\))?|"
    r"\bcontinuous\s*=\s*[\"'][^\"']{0,40}[\"']|"
    r"\b(?:the )?(?:old |former |experimental |good old )?continuous (?:stream )?(?:processing|mode|triggers?|execution|"
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
        rf"@(?:{W}){{0,6}}? (?:inherits?|shares?|has|have|keeps?|takes over|comes with|suffers from|is subject to)(?:{W}){{0,4}}?"
        rf" {LIMITS} (?:of|as|from|with|like)(?: the)? #",
        rf"@(?:{W}){{0,3}}? {ACCEPTS} {FEW}\b[^@#]{{0,100}}?(?:like|as|same as|since it is|because it is)(?: in| with)? #",
        rf"(?:like|as|same as)(?: in| with)? #,? @(?:{W}){{0,3}}? {ACCEPTS} {FEW}\b",
        rf"@(?:{W}){{0,3}}? (?:runs|works|operates|behaves|executes|is (?:implemented|built|based|realized|running))(?:{W}){{0,3}}?"
        r" (?:as|like|on|of|by|with|through|via|in) #",
        r"@,? (?:is|means|equals)(?: \w+){0,2}? (?:nothing (?:but|other than|more than|else than)|no more than|merely|still|"
        r"in fact|actually|really|just|simply|essentially) #(?= (?:under|with|by|in|and|from|that|which|since)\b|\W*$|\s*[,.;:(])",
        r"@(?: \w+){0,3}? (?:rebrand\w*|brand name|marketing name|alias|nickname|label|fancy name|other word)(?: \w+){0,2}? #",
    )
]
KINSHIP = re.compile(
    r"\b(?:same|synonym\w*|is|means|name\w*|label|feature|based|built|builds|sits|rests|inherit\w*|limit\w*|restrict\w*|only|"
    r"just|merely|map|stateless|like|relies|powered|uses|runs|kin|variant|version|brand\w*|puts|gives|enables|starts|makes|"
    r"see|get|switch\w*|have)\b|[:=|]",
    re.IGNORECASE,
)
STRANGE = re.compile(
    r"\b(?:no|not|never|without|unlike|differ\w*|than|both|compar\w*|versus|vs|contrast|beyond|instead|migrat\w*|replac\w*|"
    r"successor|predecessor|neither|nor|nothing|cannot|calls?|review\w*|existed|exists|handled|resembl\w*|remind\w*|"
    r"nobody|however|but|while|whereas|although|takes?|taken|where|when|done|too|also|or|beside|next|between|mix\w*|"
    r"wrong|stop|avoid|choose|alternatives?|modes|triggers|other|older|experimental|since 2|job|schedule)\b|n't\b",
    re.IGNORECASE,
)


def _is_kin(unit: str) -> bool:
    """Return whether a sentence affirms a relation between both sides, and no sign separates them."""
    first, last = unit.find("@"), unit.find("#")
    if min(first, last) < 0 or abs(first - last) > MAX_DISTANCE or unit.count("#") > 1 + unit.count("#, ") :
        return False
    if not FOLLOWS.match(unit, last + 1):
        return False
    end = max(first, last) + 1
    tail = unit[end : end + 60]
    return bool(
        KINSHIP.search(unit[:end] + tail)
        and not STRANGE.search(unit[:end])
        and not re.search(r"\b(?:not|never|but|while|whereas|instead|both|goes|differ\w*|aggregations|it|latter|former)\b|n't\b", tail)
        and is_present(unit)
    )


FOLLOWS = re.compile(r"\W*(?:$|[,.;:)]|(?:and|which|that|under|with|in|from|by|internally|for|then|so|is|gives|puts|enables|starts|are)\b)")
MAX_DISTANCE = 70
IS_SET = re.compile(
    r"\b(?:get|enable|start|use|activate|want|run|for)(?: \w+){0,3}? @,?(?: \w+){0,2}? (?:pass|set|write|choose|add|give|specify) #",
    re.IGNORECASE,
)
NAMES_MODE = re.compile(r"\bcontinuous (?:processing|mode|execution|engine)", re.IGNORECASE)


def equates_continuous(text: str) -> bool:
    """Return whether a sentence says that real-time mode is continuous processing, or limited in the same way."""
    text = plain(text)
    unit = _marked(text, CONTINUOUS)
    if NO.search(unit):
        return False
    matches = [match for pattern in IS_CONTINUOUS if (match := pattern.search(unit))]
    if not NAMES_MODE.search(text) and (match := IS_SET.search(unit)):
        matches.append(match)
    return any(not _is_denied(unit, match) and is_present(match[0]) for match in matches) or _is_kin(unit)


# Micro-batch: its trigger as the means that starts real-time mode.

MICRO = re.compile(
    r"\.?\btrigger\(\s*(?:processingTime|availableNow)[^()]{0,40}\)|\b(?:processingTime|availableNow)\b(?:\s*=\s*(?:True|"
    r"[\"'][^\"']{0,40}[\"']))?",
    re.IGNORECASE,
)
MEANS = r"(?:with|by|using|via|through|in|on)(?: (?:the|a|an|setting|passing|writing|using|trigger|setting|option)){0,3} #"
ASKS_HOW = re.compile(r"\b(?:how|what|which)\b.*\b(?:enable|switch|start|turn|use|get|run|activate|set|trigger|need)", re.IGNORECASE)
ANSWERS = re.compile(r"^\W*#|^[^#]{0,20}\b(?:set|use|write|with|put|pass|add|choose|by)\b[^#]{0,50}#|^[^#]{0,40}: #", re.IGNORECASE)
IS_MICRO = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b(?:runs?|starts?|use|get|enable|activate|turn on|operate|launch|execute)(?:{W}){{0,3}}? @(?:{W}){{0,4}}? {MEANS}",
        rf"@ (?:is|gets|can be|must be) \w+ed(?: on)?(?:{W}){{0,2}}? {MEANS}",
        rf"#:?(?:{W}){{0,5}}? (?:enables|starts|activates|turns on|switches on|gives|selects|triggers|runs|yields)(?:{W}){{0,3}}? @",
        rf"#,?(?:{W}){{0,6}}? (?:is|are|means|have|has|gets?|(?<!as )in)(?: (?:the|a|in|simply|just|basically|your|our)){{0,3}} @(?! and (?:micro|#)| with)",
        r"#[^@#;.]{0,60}\b(?:works|runs|operates|is|stays|goes)(?: (?:now|already))? (?:in|into) @",
        rf"#:?(?:{W}){{0,3}}? (?:puts|switches|brings|moves)(?:{W}){{1,4}}? (?:in|to|into) @",
    )
]


def starts_by_micro_batch(text: str, question: str = "") -> bool:
    """Return whether a sentence presents a trigger of micro-batch mode as the means that starts real-time mode."""
    if MODE.search(question) and ASKS_HOW.search(question):
        answer = _marked(plain(text), MICRO)
        if ANSWERS.search(answer) and not (STRANGE.search(answer) or MODE.search(text)):
            return True
    unit = _marked(re.sub(r"\breal[- ]time (?:quer\w+|jobs?|clusters?|pipelines?|flows?)", "it", plain(text)), MICRO)
    matches = (match for pattern in IS_MICRO if (match := pattern.search(unit)))
    return any(
        not (_is_denied(unit, match) or CONTRAST.search(unit[: match.end()])) and is_present(match[0]) for match in matches
    )


CONTRAST = re.compile(
    r"\b(?:compar\w*|versus|vs|baseline|fall ?back|slow\w*|than|then|before|after|until|first|code of|leave|if|not|no)\b",
    re.IGNORECASE,
)


# Runtime: a version that is certainly sufficient for real-time mode.

HAS = (
    r"(?:where|which|that|with|has|have|ships?|includes?|supports?|offers?|contains?|brings?|knows?|runs?|because|since|"
    r"as|for)"
)
KEEPS = r"(?:stay|stays|remain|remains|keep|keeps|enough|sufficient|upgrade|unnecessary|fine|wait)"
ENOUGH = re.compile(
    r"\b(?:works?|enough|at least|since|from|up(?:wards?)?|already|available|needs?|requires?|required|minimum|ok|okay|fine|"
    r"suffices?|sufficient|can|where|or (?:newer|later|above|higher)|supports?|supported|ready|safe)\b",
    re.IGNORECASE,
)
FEATURE = re.compile(
    r"\b(?:connectors?|drivers?|jars?|feeds|newer|as long as|rocksdb|delta|liquid|changelog|unity|loader|photon|state store|library|udfs?|table|reads|also|as well|too|then|"
    r"moves?|rest|training|course)\b",
    re.IGNORECASE,
)
IS_SUFFICIENT = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"#,?(?:{W}){{0,3}}? {HAS}(?:{W}){{0,3}}? @(?:{W}){{0,4}}? (?:available|there|works|runs|supported|exists|included)\b",
        rf"#(?: already)? (?:ships?|includes?|supports?|offers?|contains?|brings?|knows?|comes with|runs?|has)(?:{W}){{0,3}}? @",
        rf"\b{KEEPS}\b[^@#]{{0,40}}#[^@#]{{0,60}}\b(?:since|as|because|first|already|where)\b[^@#]{{0,40}}@",
        r"#[^@#]{0,50}\b(?:that|this|it|which) (?:is|was) the (?:first|oldest|earliest|lowest)\b[^@#]{0,30}@",
        rf"#(?:{W}){{0,3}}? (?:first|oldest|earliest|lowest)(?:{W}){{0,5}}? @",
        rf"\b(?:first|oldest|earliest|lowest|minimum|smallest)(?:{W}){{0,6}}? @(?:{W}){{0,2}}?,? (?:is|:|=|are)(?:{W}){{0,2}}? #",
        rf"@(?:{W}){{0,5}}? (?:since|from|as of|first|starting|debut\w*|introduced|ships|shipped|arrived|landed|appeared|"
        rf"exists?|available|works|supported)(?:{W}){{0,3}}? #",
        rf"\b(?:includ|introduc|add|ship|bring|brought|releas)\w*(?:{W}){{0,2}}? @(?:{W}){{0,3}}? (?:in|with)(?:{W}){{0,2}}? #",
        rf"\b(?:get|have|use|run|start|enable|try)(?:{W}){{0,2}}? @ (?:with|on|in|from)(?:{W}){{0,3}}? #,?(?:{W})?"
        r" (?:on\w*|up\w*|or|and|already|LTS)\b",
    )
]


def suffices(text: str, version: str, *, is_named: bool) -> bool:
    """Return whether a sentence calls a version sufficient for real-time mode; `is_named`: the context names the mode."""
    if NO.search(text):
        return False
    whole = _marked(plain(text), re.compile(re.escape(version) + r"(?:\s*LTS\b)?"))
    for unit in (*units(whole), whole):
        if HARMLESS.sub("", unit) and NEGATION.search(HARMLESS.sub("", unit)):
            continue
        if OTHER_TOPIC.search(unit) or FOREIGN.search(unit) or not is_present(re.sub(r"first version", "", unit)):
            continue
        if re.search(r"\b(?:(?:without|before|until|older than|below|above|nor|than|must|as long as)\b|no @)", unit, re.IGNORECASE):
            continue
        is_answer = is_named and "@" not in whole and re.match(r"\W*(?:\w+ )?# (?:will do|is enough|suffices|is fine)", unit)
        if is_answer or any(pattern.search(unit) for pattern in IS_SUFFICIENT) or _is_affirmed(unit):
            return True
    return False


def _is_affirmed(unit: str) -> bool:
    """Return whether a version and real-time mode stand close together, with a word that makes the version sufficient."""
    is_close = re.search(rf"#,?(?:{W},?){{0,12}}? @|@,?(?:{W}[,:]?){{0,18}}? #", unit)
    return bool(is_close and ENOUGH.search(unit) and not FEATURE.search(unit))


# Compute: a recommendation, a permission, or a benefit.

BASE = (
    r"(?:enable|activate|turn on|switch on|tick|check|choose|pick|select|take|prefer|opt for|go (?:for|with)|use|order|request|"
    r"book|keep|leave|let|have|add|set|put|place|run|running|start|schedule|launch|deploy|host|execute|submit|open|"
    r"attach|recommend|turn|switch|create|rely on|move|connect|assign|give|hand)"
)
START = r"(?:^|[,:;(]|\b(?:to|should|must|can|may|please|and|then|simply|just|always|also|by|you|might as well|we recommend))\s*"
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
        rf"\b(?:recommended|best|right|ideal|preferred|natural|cheapest|easiest|simplest)\b[^#]{{0,50}}\b(?:is|are|:)(?:{W}){{0,2}}? #",
        rf"@(?:{W}){{0,4}}? (?:runs?|starts?|works?|executes?|benefits?|gains?|profits?|requires?|needs?|uses?|scales?|"
        rf"performs?|likes?|lives?|belongs?|copes?)(?:{W}){{0,8}}? #",
        rf"\b(?:can|may) be (?:run|started|hosted|executed|scheduled|deployed)(?:{W}){{0,4}}? #",
        rf"{START}(?:set|give|let|use|choose|pick|run)\b[^#@;:]{{0,60}} (?:with|by|via|using|on) #",
        r"# [^#@.;]{0,60}, and(?: the| a)? @(?: \w+)? (?:continues|gets|gains|benefits|finds|profits)\b",
        r"#(?:, and)? follows? the (?:load|traffic) of the @",
        r"\b(?:needs?|requires?|wants?)\b[^.;:#@]{0,80} #",
        rf"\bscales?(?:{W}){{0,7}}? (?:with|by|through|via|using) #",
    )
]
MILD = re.compile(
    r"\b(?:runs?|lives?|home|hosts?|hosted|connect|attach|works?|enough|does|do|wants?|ticked|sets?|gives?|more|faster|cheaper|"
    r"cheap|saves?|nothing|helps?|on|yes|always|good|great|gets?|use|uses|using|enjoys?|loves?|suits?|suited|just as well|"
    r"needs?|requires?|supports?|supported|available|possible|can|should|must|will|enabled|for|ready|quick\w*|easy|easily|"
    r"starts?|profits?|benefits?|recommend\w*|best|happy|happily|fine|okay|with)\b",
    re.IGNORECASE,
)
PRONOUN = re.compile(r"\W*(?:it|they|this|that|these|those)\b", re.IGNORECASE)
CAUSE = r"(?:, (?:so that|so|since|because|as))?"
CLOSE = re.compile(rf"#(?:{W}){{0,9}}?{CAUSE}(?:{W}){{0,6}}? @|@:?(?:{W}:?){{0,9}}?{CAUSE}(?:{W}){{0,6}}? #")
ALSO = re.compile(r"\b(?:also|as well as|including|even)\b[^.;#]{0,40}@|\bboth [^,#]{0,30} and @", re.IGNORECASE)
STRANGER = re.compile(
    r"\b(?:pods?|pools?|form (?:has|offers)|polic(?:y|ies)|tests?|dashboards?|functions?|models?|tables?|topics?|rate|dbus?|stranger|behind|"
    r"that follow\w*|copies|writes?|plain|standard|once|if|only|both|compar\w*|bench\w*|took|second group|purpose|whoever enabled|ask|give up|costs? (?:us|me)|somebody|"
    r"made for|scoring|on-demand only|fixed size|untick|exercises?|experiments?|try|see what|results?|to query|history|check(?:s|ed)?|search\w*|find|mode is|keeps its)\b",
    re.IGNORECASE,
)
KEEP_ON = re.compile(
    rf"\b(?:never|do not|don't|not to|must not|should not|avoid)(?:{W}){{0,1}}? (?:disabl\w+|turn\w*(?: off)?|switch\w*(?: off)?|"
    rf"deactivat\w+|remov\w+|give up|untick|uncheck)(?:{W}){{0,1}}? #|#(?:{W}){{0,2}}? (?:must|should) not be (?:disabled|"
    r"turned off|switched off|removed)",
    re.IGNORECASE,
)
AGAINST = re.compile(
    r"\b(?:no|not|without|instead of|rather than|other than|than|except|unlike|unlike)"
    r"(?: [\w-]+){0,3} [#@]|\b(?:drop|clear|leave out|over)(?: [\w-]+){0,3} #|# (?:off|out|away)\b|#(?: [\w-]+){0,2} (?:empty|blank|alone|unticked|cleared)\b|"
    r"#(?: \w+){0,3} (?:off|out|away|disabled|vanish\w*|is over)\b",
    re.IGNORECASE,
)
TROUBLE = re.compile(
    r"\b(?:errors?|fail\w*|reproduc\w*|los(?:es?|t|ing)|violat\w*|break\w*|crash\w*|outages?|trap|pointless|useless|"
    r"opposite|clear)\b",
    re.IGNORECASE,
)


def recommends(text: str, subject: str, *, is_named: bool) -> bool:
    """Return whether a sentence recommends a subject for real-time mode; `is_named`: a sentence before names the mode."""
    whole = _marked(plain(text), re.compile(subject, re.IGNORECASE))
    if re.search(r"\"[^\"]*[@#][^\"]*\s[^\"]*\"", whole) or re.search(r"\b(?:we|I|they) (?:use|run)\b", whole, re.IGNORECASE):
        return False
    if "serverless" in subject and re.search(r"\bclassic\b", whole, re.IGNORECASE):
        return False
    if re.search(r"\b(?:consumers?|producers?|brokers?|gateways?)\b", whole, re.IGNORECASE):
        return False
    is_other = OTHER_TOPIC.search(whole) or FOREIGN.search(whole)
    for unit in units(whole):
        is_also = ALSO.search(unit)
        if "#" not in unit or (OTHER_TOPIC.search(unit) and not is_also) or FOREIGN.search(unit):
            continue
        if "@" not in unit and (is_other or not ("@" in whole or is_named)):
            continue
        if KEEP_ON.search(unit):
            return True
        text_left = HARMLESS.sub("", unit if "@" in unit else whole)
        clean = re.sub(r"\b(?:rather than|instead of) (?!#)[^#,@]{0,60},", "", text_left, flags=re.IGNORECASE)
        if NEGATION.search(HARMLESS.sub("", whole)) or AGAINST.search(HARMLESS.sub("", unit)) or ELSE.search(clean) or TROUBLE.search(clean):
            continue
        if (STRANGER.search(unit if "@" in unit else whole) and not (is_also or IS_ADVICE[1].search(unit))) or (PRONOUN.match(unit) and not is_named):
            continue
        if CLOSE.search(unit) and MILD.search(unit) and is_present(unit):
            return True
        if any(match and is_present(_clause(unit, match)) for match in (each.search(unit) for each in IS_ADVICE)):
            return True
    return False


def _clause(unit: str, match: re.Match[str]) -> str:
    """Return a relation with everything before it, and the words after it up to the next comma."""
    end = unit.find(",", match.end())
    return unit[: end if end >= 0 else None]
