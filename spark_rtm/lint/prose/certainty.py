"""
Tell whether a text certainly says something itself, now and without reservation.

The linter does not judge text that repeats what others say, tells of a change or of the past, or hopes or supposes.
"""

import re
from functools import lru_cache

from spark_rtm.lint.prose.topics import TOPIC

HEARSAY = (
    r"says?|said|saying|states? that|stated|tells?|told|telling|claim(?:s|ed|ing)?|(?:I|we|you|they|it|who|have|has|"
    r"once) "
    r"(?:\w+ )?reads?|(?:I|we) (?:have )?(?:saw|see|found|find|learn\w*)|heard|hear|hearsay|rumou?rs?|according|"
    r"allegedly|"
    r"supposedly|reportedly|wrote|writes|suggest(?:s|ed|ion)?|advised|advises|advice|argues?|insists?|thinks?|thought|"
    r"believ\w+|assum\w+|suppos\w+|guess\w*|expects? (?:that|to)|promis\w+|announce[sd]?|answers? (?:that|to)|"
    r"shows? (?:how|that)|many (?:people|readers|users|teams)|some (?:people|readers|users|teams|guides?|posts?)|"
    r"readers|people|colleagues?|somebody|someone|customers?|vendors?|assistants?|generated|"
    r"tutorials?|drafts?|blogs?|posts?|articles?|talks?|slides?|threads?|editions?|statements?|sentences?|quotes?|"
    r"quoted|"
    r"(?:this|that|the|a|one|another|other|old|older|official|public|their|his|her) (?:\w+ )?(?:skill|guide|page|"
    r"paragraph|doc|documentation|answer|manual|paper)s?|(?:this|that) (?:row|column|text|line|rule|number|limit)|"
    r"the number"
)
CHANGE = (
    r"remov\w+|drops?|dropped|dropping|delet\w+|replac\w+|correct(?:s|ed|ing|ion|ions)|fix(?:es|ing)|(?:we|I|have|has|"
    r"been|"
    r"was|were) fixed|fixed (?:the|this|that|it|a|an|in|by)|chang(?:ed|ing)|moved|migrated|migrating|switched (?:from|"
    r"away|off|back)|"
    r"gone|revert\w*|used to|no longer|formerly|previously|earlier|obsolete|outdated|stale|out[- ]of[- ]date|"
    r"deprecated|"
    r"older|old|was|were|had|did|became|began|came|went|once (?:\w+ed|ran|set)|tried|tested|noticed|"
    r"(?:I|we|they|he|she) (?:have |had )?(?:enabled|used|set|turned|switched|ran|chose|added|kept|put)|lifted|"
    r"(?:first|early|initial) (?:version|draft)"
)
DOUBT = (
    r"hop(?:e|es|ed|ing)|wish\w*|would|might|could|maybe|perhaps|probably|possibly|unclear|unknown|unsure|uncertain|"
    r"whether|"
    r"seems?|appears?|looks like|waits?|waiting|planned|plans to|roadmap|except\w*|apart from|other than|all but|"
    r"some ?day|not yet|later (?:releases?|versions?)|"
    r"future|next year|imagine|pretend|myths?|misconceptions?|misunderst\w+|mistak\w+|mix(?:es|ed|ing)?[- ]up|"
    r"confus\w+|wrong\w*|"
    r"incorrect\w*|exercises?:?|quiz|true or false|experiments?|untrue|bogus|nonsense|"
    r"contradict\w*|no source|depends on whether"
)
UNCERTAIN = re.compile(
    rf"\b(?:{HEARSAY}|{CHANGE}|{DOUBT})\b|\?|"
    r"^\W*(?:search|grep|check(?:s|ed)?|rules?|tests?|find|finds|detect\w*|report\w*|warn\w*|look) (?:for|whether|"
    r"that|about|of|on|a|an|if)\b",
    re.IGNORECASE,
)
RESERVED = re.compile(rf"\b(?:{HEARSAY}|{DOUBT})\b|\?", re.IGNORECASE)
CHANGED = re.compile(rf"\b(?:{CHANGE})\b", re.IGNORECASE)
SOFT = re.compile(
    r"\bsay,? (?=\d)|\bthe number (?=is|of|sets)|\bsince then\b|\b(?:with |there are )?(?:no|"
    r"without) exceptions?\b|\bno \w+ is planned\b|\bchanging (?=number|load|"
    r"traffic)|\breplace [^.;]{1,40} (?:by|with) (?=an? auto|the auto|serverless|photon|\W*\.?trigger\("
    r"(?:continuous|processing))|\b(?:percent|%) off\b",
    re.IGNORECASE,
)
"""Words that look like hearsay, doubt, change or negation, and are none."""
REQUIRES = re.compile(
    r"\b(?:requir\w*|prerequisites?|needs?|must|should|recommend\w*|support(?:s|ed)|best practices?|minimum|enabled?|"
    r"turn on|switch on|use|works (?:on|with)|runs on|checklist|set ?up|settings?|configuration)\b",
    re.IGNORECASE,
)
"""The words of a lead-in that makes a list of nouns a list of advice."""
PRODUCTS = r"librar(?:y|ies)|products?|games?|packages?|sdk|websites?|frontends?|backends?"
SYSTEMS = r"consumers?|producers?|databases?|brokers?|gateways?|flink|kubernetes"
FOREIGN = re.compile(rf"\b(?:{PRODUCTS}|{SYSTEMS}|vendors?|warehouses?|dashboards?)\b", re.IGNORECASE)
"""Things that are no query in real-time mode, although they may have a mode of this name."""


def is_foreign(text: str) -> bool:
    """Return whether a text names another thing before it names real-time mode, or without naming it."""
    foreign, topic = FOREIGN.search(text), TOPIC.search(text)
    return bool(foreign and (topic is None or foreign.start() < topic.start()))


@lru_cache(maxsize=2000)  # generated pages repeat their sentences
def is_certain(text: str) -> bool:
    """Return whether a text speaks for itself, in the present and without doubt."""
    return not UNCERTAIN.search(text)


@lru_cache(maxsize=2000)
def is_own(text: str) -> bool:
    """Return whether a text speaks for itself and without doubt, although perhaps of a change or of the past."""
    return not RESERVED.search(text)


def is_present(text: str) -> bool:
    """Return whether a text tells of no change and not of the past."""
    return not CHANGED.search(text)
