"""Tell which mode a text is about: real-time mode of Spark, something else, or neither."""

import re
from collections.abc import Iterable
from functools import lru_cache

TOPIC = re.compile(
    r"(?<!near )(?<!near-)\breal[- ]?time (?:mode|triggers?|clusters?|quer(?:y|ies)|stream(?:s|ing)? mode|pipelines?|"
    r"flows?|jobs?)\b|\brtm\b|\brealTime\b|realTimeMode",
    re.IGNORECASE,
)
OTHER_TOPIC = re.compile(
    r"\b(?:micro-?batch|batch|warehouses?|dashboards?|continuous (?:processing|mode|triggers?|execution)|"
    r"availableNow|processingTime|alternatives?|"
    r"default trigger|analytics|ETL|ingestion|backfills?|nightly|other (?:modes|triggers|streams)|flink|sql|"
    r"producers?|generators?|consumers?|model serving|endpoints?|apps?|reports?|archiv\w+|"
    r"training|downstream|(?:all )?others|everything else|generates?|otherwise|elsewhere)\b",
    re.IGNORECASE,
)
SPARK = re.compile(
    r"spark|databricks|\bDBR\b|lakeflow|structured.streaming|\bstreaming\b|micro-?batch|writeStream|readStream|"
    r"processingTime|availableNow|\btrigger\(|\brealTime\s*=\s*[\"']|\breal-time (?:triggers?|"
    r"quer(?:y|ies))\b|\bcheckpoint|"
    r"\bdropDuplicates\b|\boutput mode|\bshuffle partitions|\bstateful\b",
    re.IGNORECASE,
)
PHOTON_ENGINE = re.compile(r"\bPhoton\b(?! events?| counts?| counting| energ)")


def is_about_spark(text: str) -> bool:
    """Return whether a page names Spark or a product around it; other products have a real-time mode, too."""
    return bool(SPARK.search(text) or PHOTON_ENGINE.search(text))


@lru_cache(maxsize=2000)  # all sentences below a heading ask about the same heading
def names_topic(text: str) -> bool | None:
    """Return whether a text names real-time mode (True), only other modes (False), or no mode (None)."""
    if TOPIC.search(text):
        return True
    return False if OTHER_TOPIC.search(text) else None


def nearest_topic(text: str, position: int) -> bool | None:
    """Return the topic that a text names last before a position, or else first after it."""
    topics = [(match.start(), True) for match in TOPIC.finditer(text)]
    topics += [(match.start(), False) for match in OTHER_TOPIC.finditer(text)]
    before = [topic for topic in topics if topic[0] < position]
    if before:
        return max(before)[1]
    return min(topics)[1] if topics else None


def is_about(texts: Iterable[str]) -> bool:
    """Return whether the first of the texts that names a mode names real-time mode."""
    return next((topic for text in texts if (topic := names_topic(text)) is not None), False)
