"""Evaluate the alert rules on metrics that were read over HTTP, without a Prometheus server."""

import re
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import yaml
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from scripts.pack import files

FOLDER = files.ROOT / "spark_rtm" / "monitoring"
# The rules use only this small part of the language, so that these few lines can evaluate all of them.
EXPRESSION = re.compile(r'(time\(\) - )?(\w+)(?:\{(\w+)="([^"]+)"\})? (>|==) ([\d.]+)')
METRIC = re.compile(r"realtime_\w+")


@dataclass(frozen=True)
class Rule:
    """An alert rule of a file."""

    name: str
    expression: str

    def is_true(self, samples: list[Sample], now: float) -> bool:
        """Return whether the expression is true for one of the samples; a sample that is missing is not true."""
        match = EXPRESSION.fullmatch(self.expression)
        assert match, f"{self.name}: rules.py cannot evaluate {self.expression!r}"
        since, metric, label, wanted, operator, threshold = match.groups()
        found = [s.value for s in samples if s.name == metric and (not label or s.labels.get(label) == wanted)]
        values = [now - value if since else value for value in found]
        return any(value > float(threshold) if operator == ">" else value == float(threshold) for value in values)


def rules(path: Path = FOLDER / "alerts.yml") -> list[Rule]:
    """Return the rules of a rule file."""
    groups = yaml.safe_load(path.read_text(encoding="utf-8"))["groups"]
    return [Rule(rule["alert"], rule["expr"]) for group in groups for rule in group["rules"]]


def scrape(port: int) -> list[Sample]:
    """Read all metrics as Prometheus reads them."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as response:
        text = response.read().decode()
    return [sample for family in text_string_to_metric_families(text) for sample in family.samples]


def ringing(samples: list[Sample], now: float) -> set[str]:
    """Return the names of the alerts whose condition is true."""
    return {rule.name for rule in rules() if rule.is_true(samples, now)}
