"""Find triggers of micro-batch mode that a text presents as the means to start real-time mode."""

import re

from spark_rtm.lint.prose.certainty import is_present
from spark_rtm.lint.prose.polarity import plain
from spark_rtm.lint.prose.relations.continuous import STRANGE
from spark_rtm.lint.prose.relations.signs import MODE, W, is_denied, marked

MICRO = re.compile(
    r"\.?\btrigger\(\s*(?:processingTime|availableNow)[^()]{0,40}\)|\b(?:processingTime|"
    r"availableNow)\b(?:\s*=\s*(?:True|"
    r"[\"'][^\"']{0,40}[\"']))?",
    re.IGNORECASE,
)
MEANS = (
    r"(?:with|by|using|via|through|in|on)(?: (?:the|a|an|setting|passing|writing|using|trigger|setting|option)){0,3} #"
)
ASKS_HOW = re.compile(
    r"\b(?:how|what|which)\b.*\b(?:enable|switch|start|turn|use|get|run|activate|set|trigger|need)", re.IGNORECASE
)
ANSWERS = re.compile(
    r"^\W*#|^[^#]{0,20}\b(?:set|use|write|with|put|pass|add|choose|by)\b[^#]{0,50}#|^[^#]{0,40}: #", re.IGNORECASE
)
IS_MICRO = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        (
            rf"\b(?:runs?|starts?|use|get|enable|activate|turn on|operate|launch|"
            rf"execute)(?:{W}){{0,3}}? @(?:{W}){{0,4}}? {MEANS}"
        ),
        rf"@ (?:is|gets|can be|must be) \w+ed(?: on)?(?:{W}){{0,2}}? {MEANS}",
        (
            rf"#:?(?:{W}){{0,5}}? (?:enables|starts|activates|turns on|switches on|gives|selects|triggers|"
            rf"runs|yields)(?:{W}){{0,3}}? @"
        ),
        (
            rf"#,?(?:{W}){{0,6}}? (?:is|are|means|have|has|gets?|(?<!as )in)(?: (?:the|a|in|simply|just|"
            rf"basically|your|our)){{0,3}} @(?! and (?:micro|#)| with)"
        ),
        r"#[^@#;.]{0,60}\b(?:works|runs|operates|is|stays|goes)(?: (?:now|already))? (?:in|into) @",
        rf"#:?(?:{W}){{0,3}}? (?:puts|switches|brings|moves)(?:{W}){{1,4}}? (?:in|to|into) @",
    )
]


def starts_by_micro_batch(text: str, question: str = "") -> bool:
    """Return whether a sentence presents a trigger of micro-batch mode as the means that starts real-time mode."""
    if MODE.search(question) and ASKS_HOW.search(question):
        answer = marked(plain(text), MICRO)
        if ANSWERS.search(answer) and not (STRANGE.search(answer) or MODE.search(text)):
            return True
    unit = marked(re.sub(r"\breal[- ]time (?:quer\w+|jobs?|clusters?|pipelines?|flows?)", "it", plain(text)), MICRO)
    matches = (match for pattern in IS_MICRO if (match := pattern.search(unit)))
    return any(
        not (is_denied(unit, match) or CONTRAST.search(unit[: match.end()])) and is_present(match[0])
        for match in matches
    )


CONTRAST = re.compile(
    r"\b(?:compar\w*|versus|vs|baseline|fall ?back|slow\w*|than|then|before|after|until|first|"
    r"code of|leave|if|not|no)\b",
    re.IGNORECASE,
)
