"""List the sentences about real-time mode, each with the applicable rule in SKILL.md, for an assistant to judge."""

import re

from spark_rtm.lint.files.layout import layout_of
from spark_rtm.lint.files.prose import sentences
from spark_rtm.text.finding import printable

SUBJECTS = {
    "Databricks: no Photon, autoscaling, spot or serverless jobs": r"photon|auto-?scal|\bspot\b|preemptible|serverless",
    "Databricks: Runtime 16.4 LTS or later, 18 LTS advised": r"\b(?:DBR|runtime)\b|\b\d\d\.\d\b|\bLTS\b",
    'both: .trigger(realTime="5 minutes")': r"\btrigger|realTime\s*=|processingTime|availableNow|continuous",
    "both: the interval is the time between commits, not the latency": r"\binterval\b|every \d+|\bcommit",
    "both: outputMode update": r"output ?mode|\bappend\b|\bcomplete mode\b",
    "both: no Delta, no files, no foreachBatch": r"\bdelta\b|foreachBatch|parquet|\bfiles?\b|\btables?\b|\bsinks?\b",
    "OSS: source Kafka": r"\bsources?\b|kinesis|event hubs|\brate\b|\bpulsar\b",
    "OSS: no Python on the data path": r"\budfs?\b|pandas|python",
    "both: free slots >= tasks of all stages": r"\bslots?\b|\bcores?\b|partitions",
    "both: static tables only with broadcast(), union before state": r"\bjoins?\b|\bunion\b",
    "both: timers and state": r"\btimers?\b|\bstate(?:ful)?\b|transformWithState|watermark",
    "both: sinks upsert by id and version, or tolerate duplicates": r"exactly.once|duplicat|at.least.once|idempot",
    "both: latency is append time minus append time": r"latenc|milliseconds?|\bms\b|sub-?second|\bp99\b",
}
"""The rules in SKILL.md, each with a pattern for the rule's subject."""
OTHER = "no rule of SKILL.md applies: compare the sentence with the page that SKILL.md links to"


def claims_in(text: str, name: str) -> list[str]:
    """Return a text line for each of a page's sentences about real-time mode."""
    lines = []
    for sentence in sorted(sentences(layout_of(text)), key=lambda one: one.line):
        if sentence.is_about or sentence.is_below:  # a page about real-time mode also describes other modes
            words = " ".join(sentence.text.split())
            rules = [rule for rule, pattern in SUBJECTS.items() if re.search(pattern, words, re.IGNORECASE)]
            lines.append(printable(f"{name}:{sentence.line}: {words[:300]} [{'; '.join(rules) or OTHER}]"))
    return lines
