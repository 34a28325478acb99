"""Read cluster and job definitions in JSON and Terraform, and in YAML if PyYAML is installed."""

import re
from collections.abc import Callable, Iterator
from typing import Any

from spark_rtm.lint.facts import Cluster, Fact, Facts, Object
from spark_rtm.lint.problem import spend
from spark_rtm.lint.spark.known_settings import FLAG
from spark_rtm.lint.spark.module import Module
from spark_rtm.lint.spark.streams import Setting
from spark_rtm.lint.spark.values import Const

CONFS = ("spark_conf", "configuration")
"""Keys in a definition that contain Spark settings."""
CLUSTER_KEYS = {"spark_version", "num_workers", "runtime_engine", "aws_attributes", "azure_attributes",
                "gcp_attributes", "node_type_id"}  # fmt: skip
RELEVANT_KEYS = CLUSTER_KEYS | {"autoscale", "spark_conf", "configuration", "environment_key"}
PIPELINE_KEYS = {"continuous", "edition", "channel", "libraries", "development", "catalog", "pipeline_type"}
NAME_KEYS = ("cluster_name", "job_cluster_key", "name", "task_key", "description",
             "notebook_path", "python_file", "run_name")  # fmt: skip
OBJECTS = ("spark_conf", "aws_attributes", "azure_attributes", "gcp_attributes", "autoscale", "custom_tags")
"""Objects in a cluster definition. Policies write their keys with a dot, as in `autoscale.max_workers`."""
LOCAL = re.compile(r"^\$\{local\.(\w+)\}$")
MAX_DEPTH = 40
KEY_RULES = ("unknown-setting", "check-off", "shuffle-manager")
REAL_TIME_KEY = re.compile(r"\bspark\.[\w.]*real[-_.]?time", re.IGNORECASE)
REAL_TIME_NAME = re.compile(r"(?:^|[^a-z])rtm(?:[^a-z]|$)|real[-_ ]?time[-_ ]?(?:mode|trigger)", re.IGNORECASE)


def read_definitions(text: str, read: Callable[[str], list[Any]]) -> Facts:
    """Return a document's clusters and settings. A document that does not mention real-time mode is not parsed."""
    facts = Facts()
    is_about = REAL_TIME_NAME.search(text) or REAL_TIME_KEY.search(text)
    for root in read(text) if is_about and any(key in text for key in RELEVANT_KEYS) else ():
        for found in _Clusters().below(_in_one_form(root)):
            facts.parts += _facts(*found)
    return facts


def _facts(content: Object, kind: str, names: list[tuple[str, int]]) -> Iterator[Fact]:
    cluster = Cluster(content, kind, next((line for text, line in reversed(names) if REAL_TIME_NAME.search(text)), 0))
    if cluster.has_flag or cluster.named_at:
        yield Fact(cluster)
    confs = [content[key] for key in CONFS if isinstance(content.get(key), Object)]
    settings = [Setting(key, Const(conf[key]), line) for conf in confs for key, line in conf.lines.items()]
    yield Fact(Module(settings=settings), only=KEY_RULES)


Found = tuple[Object, str, list[tuple[str, int]]]
"""A definition, its kind, and its names with their line numbers, nearest name last."""


class _Clusters:
    """A search for a document's clusters. The search counts steps, because several YAML objects can share a part."""

    def __init__(self) -> None:
        self.known: dict[int, list[Found]] = {}

    def below(self, value: Any) -> list[Found]:
        if id(value) not in self.known:
            self.known[id(value)] = self._below(value)
        spend(1 + len(self.known[id(value)]))
        return self.known[id(value)]

    def _below(self, value: Any) -> list[Found]:
        if isinstance(value, list):
            return [each for item in value for each in self.below(item)]
        if not isinstance(value, Object):
            return []
        names = [(value[key], value.lines[key]) for key in NAME_KEYS if isinstance(value.get(key), str)]
        if kind := _kind(value):
            return [(value, kind, names)]
        found: list[Found] = []
        for key, child in value.items():
            found += _with_names([(key, value.lines[key])] if isinstance(child, Object) else [], self.below(child))
        return _with_names(names, found)


def _with_names(names: list[tuple[str, int]], found: list[Found]) -> list[Found]:
    """Add a job's names to its cluster. If a job has several clusters, its names apply to none of them."""
    return [(content, kind, [*names, *inner]) for content, kind, inner in found] if len(found) == 1 else found


def _kind(content: Object) -> str:
    """Return a definition's kind (see `Cluster.kind`), or an empty string."""
    sizes = content.get("autoscale")
    if CLUSTER_KEYS & content.keys() or (isinstance(sizes, Object) and "min_workers" in sizes):
        return "cluster"
    has_flag = any(isinstance(content.get(key), Object) and FLAG in content[key] for key in CONFS)
    if has_flag and ("configuration" in content or PIPELINE_KEYS & content.keys()):
        return "pipeline"
    return "serverless task" if "environment_key" in content and "task_key" in content else ""


def _in_one_form(root: Any) -> Any:
    """Return a document with nested policy keys, and with Terraform locals replaced by their values."""
    local = Object()
    block = root.get("locals") if isinstance(root, Object) else None
    for one in block if isinstance(block, list) else [block]:
        local.update(one if isinstance(one, Object) else {})
    return _with_locals(_nested(root), local, 0) if local else _nested(root)


def _nested(root: Any) -> Any:
    if not isinstance(root, Object) or not any(_is_policy(key, value) for key, value in root.items()):
        return root
    entries = Object()
    for key, child in root.items():
        if isinstance(child, Object) and child.get("type") == "forbidden":
            continue  # the policy's clusters do not have this key
        value = child.get("value", child.get("defaultValue", "${policy}")) if isinstance(child, Object) else child
        first, dot, rest = key.partition(".")
        if first not in OBJECTS or not dot:
            entries.add(key, root.lines[key], value)
            continue
        if first not in entries:
            entries.add(first, root.lines[key], Object())
        if isinstance(entries[first], Object):
            entries[first].add(rest, root.lines[key], value)
    return entries


def _is_policy(key: str, value: Any) -> bool:
    is_rule = isinstance(value, Object) and "type" in value
    return is_rule and key.partition(".")[0] in (*OBJECTS, "spark_version", "runtime_engine", "node_type_id")


def _with_locals(value: Any, local: Object, depth: int) -> Any:
    if depth > MAX_DEPTH:
        return value
    if isinstance(value, str) and (match := LOCAL.match(value)) and match[1] in local:
        return _with_locals(local[match[1]], local, depth + 1)
    if isinstance(value, list):
        return [_with_locals(item, local, depth + 1) for item in value]
    if isinstance(value, Object):
        entries = [(key, value.lines[key], _with_locals(child, local, depth + 1)) for key, child in value.items()]
        resolved = Object(each for each in entries if not _is_merged(each))
        for _, line, base in filter(_is_merged, entries):
            for name in base.keys() - resolved.keys():
                resolved.add(name, line, base[name])
        return resolved
    return value


def _is_merged(entry: tuple[str, int, Any]) -> bool:
    """Return whether an entry is an argument to Terraform's `merge` with a known value."""
    return entry[0].startswith("<<") and isinstance(entry[2], Object)
