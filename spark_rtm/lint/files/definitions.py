"""Check cluster and job definitions in JSON and, if PyYAML is installed, in YAML."""

import re
from collections.abc import Callable, Iterator

from spark_rtm.lint.files.documents import MAX_VALUES, Content, Node, TooManyValuesError
from spark_rtm.lint.rules.cluster import RULES as CLUSTER_RULES
from spark_rtm.lint.rules.cluster import Cluster
from spark_rtm.lint.rules.rule import Module, RuleProblem, Steps
from spark_rtm.lint.rules.setting import RULES as SETTING_RULES
from spark_rtm.lint.spark.known_settings import FLAG
from spark_rtm.lint.spark.streams import Setting
from spark_rtm.lint.spark.values import Const

CLUSTER_KEYS = {"spark_version", "num_workers", "runtime_engine", "aws_attributes", "azure_attributes",
                "gcp_attributes", "node_type_id"}  # fmt: skip
RELEVANT_KEYS = CLUSTER_KEYS | {"autoscale", "spark_conf", "configuration", "environment_key"}
PIPELINE_KEYS = {"continuous", "edition", "channel", "libraries", "development", "catalog", "pipeline_type"}
NAME_KEYS = ("cluster_name", "job_cluster_key", "name", "task_key", "description",
             "notebook_path", "python_file", "run_name")  # fmt: skip
Name = tuple[str, int]
OBJECTS = ("spark_conf", "aws_attributes", "azure_attributes", "gcp_attributes", "autoscale", "custom_tags")
"""The objects of a cluster whose keys a policy flattens."""
LOCAL = re.compile(r"^\$\{local\.(\w+)\}$")
MAX_DEPTH = 40
Entries = dict[str, tuple[int, Node]]
CONFS = ("spark_conf", "configuration")
KEY_RULES = [rule for rule in SETTING_RULES if rule.id in {"unknown-setting", "check-off", "shuffle-manager"}]
REAL_TIME_KEY = re.compile(r"\bspark\.[\w.]*real[-_.]?time", re.IGNORECASE)
REAL_TIME_NAME = re.compile(r"(?:^|[^a-z])rtm(?:[^a-z]|$)|real[-_ ]?time[-_ ]?(?:mode|trigger)", re.IGNORECASE)


def definition_problems(text: str, read: Callable[[str], list[Node]]) -> list[RuleProblem]:
    """Return the problems in a cluster or job definition, which is parsed only if it names real-time mode."""
    if not (REAL_TIME_NAME.search(text) or REAL_TIME_KEY.search(text)) or not any(key in text for key in RELEVANT_KEYS):
        return []
    found = [each for root in read(text) for each in _Clusters().below(_in_one_form(root))]
    return [entry for node, kind, names in found for entry in _problems_of(_cluster(node, kind, names))]


def _problems_of(cluster: Cluster) -> Iterator[RuleProblem]:
    yield from ((rule, problem) for rule in CLUSTER_RULES if cluster.is_real_time for problem in rule.check(cluster))
    settings = [
        Setting(key, Const(value), cluster.lines[f"{table}.{key}"])
        for table, confs in cluster.keys.items()
        for key, value in (confs.items() if table in CONFS and isinstance(confs, dict) else ())
    ]
    module = Module(settings=settings)
    yield from ((rule, problem) for rule in KEY_RULES for problem in rule.check(module))


Found = tuple[Node, str, list[Name]]
"""A definition, its kind, and the names that apply to it, the nearest last."""


class _Clusters:
    """Finds the clusters of one document. A YAML node can be part of several others, so steps are limited."""

    def __init__(self) -> None:
        self.steps = Steps(MAX_VALUES, TooManyValuesError)
        self.known: dict[int, list[Found]] = {}

    def below(self, node: Node) -> list[Found]:
        if id(node) not in self.known:
            self.known[id(node)] = self._below(node)
        self.steps.spend(1 + len(self.known[id(node)]))
        return self.known[id(node)]

    def _below(self, node: Node) -> list[Found]:
        if isinstance(node.content, list):
            return [each for item in node.content for each in self.below(item)]
        if not isinstance(node.content, dict):
            return []
        names = [(_text(node.content[name][1]), node.content[name][0]) for name in NAME_KEYS if name in node.content]
        if kind := _kind(node.content):
            return [(node, kind, names)]
        found: list[Found] = []
        for key, (line, child) in node.content.items():
            found += _with_names([(key, line)] if isinstance(child.content, dict) else [], self.below(child))
        return _with_names(names, found)


def _with_names(names: list[Name], found: list[Found]) -> list[Found]:
    """Add the names of a job to its cluster. With several clusters, they do not indicate which runs real-time mode."""
    return [(node, kind, [*names, *inner]) for node, kind, inner in found] if len(found) == 1 else found


def _kind(content: Entries) -> str:
    """Return the kind of a definition (see `Cluster.kind`), or an empty string."""
    sizes = content["autoscale"][1].content if "autoscale" in content else None
    if CLUSTER_KEYS & content.keys() or (isinstance(sizes, dict) and "min_workers" in sizes):
        return "cluster"
    if _is_pipeline(content):
        return "pipeline"
    return "serverless task" if "environment_key" in content and "task_key" in content else ""


def _is_pipeline(content: Entries) -> bool:
    confs = [content[key][1].content for key in ("configuration", "spark_conf") if key in content]
    has_flag = any(isinstance(each, dict) and FLAG in each for each in confs)
    return has_flag and ("configuration" in content or bool(PIPELINE_KEYS & content.keys()))


def _text(node: Node) -> str:
    return node.content if isinstance(node.content, str) else ""


def _cluster(node: Node, kind: str, names: list[Name]) -> Cluster:
    assert isinstance(node.content, dict)
    cluster = Cluster(line=node.line, kind=kind)
    for key, (line, child) in node.content.items():
        cluster.lines[key] = line
        if isinstance(child.content, dict):
            cluster.keys[key] = {name: grandchild.content for name, (_, grandchild) in child.content.items()}
            for name, (inner_line, _) in child.content.items():
                cluster.lines[f"{key}.{name}"] = inner_line
        else:
            cluster.keys[key] = child.content
    key = "spark_conf" if "spark_conf" in cluster.keys else "configuration"
    confs = cluster.keys.get(key)
    flag = confs.get(FLAG) if isinstance(confs, dict) else None
    cluster.is_open = (
        isinstance(confs, str)
        or not {"<<", "policy_id"}.isdisjoint(cluster.keys)
        or (isinstance(confs, dict) and "<<" in confs)
    )
    cluster.has_flag = str(flag).lower() == "true" or str(flag).startswith("${")
    if flag is not None and not cluster.has_flag:
        cluster.lines["flag"] = cluster.lines[f"{key}.{FLAG}"]
    named = [line for text, line in names if REAL_TIME_NAME.search(text)]
    cluster.is_real_time = cluster.has_flag or bool(named)
    if named:
        cluster.lines["its name"] = named[-1]
    return cluster


def _in_one_form(root: Node) -> Node:
    """Return a document with nested policy keys and resolved local values of Terraform."""
    content = root.content
    local: Entries = {}
    block = content["locals"][1] if isinstance(content, dict) and "locals" in content else Node(1, None)
    for one in block.content if isinstance(block.content, list) else [block]:
        local |= one.content if isinstance(one.content, dict) else {}
    return _with_locals(_nested(root), local, 0) if local else _nested(root)


def _nested(node: Node) -> Node:
    content = node.content
    if not isinstance(content, dict) or not any(_is_policy(key, entry[1]) for key, entry in content.items()):
        return node
    entries: Entries = {}
    for key, (line, child) in content.items():
        value = Node(child.line, _policy_value(child)) if isinstance(child.content, dict) else child
        first, dot, rest = key.partition(".")
        if first in OBJECTS and dot:
            holder = entries.setdefault(first, (line, Node(line, {})))[1].content
            if isinstance(holder, dict):
                holder[rest] = (line, value)
        else:
            entries[key] = (line, value)
    return Node(node.line, entries)


def _is_policy(key: str, node: Node) -> bool:
    is_rule = isinstance(node.content, dict) and "type" in node.content
    return is_rule and key.partition(".")[0] in (*OBJECTS, "spark_version", "runtime_engine", "node_type_id")


def _policy_value(node: Node) -> Content:
    content = node.content if isinstance(node.content, dict) else {}
    given = content.get("value") or content.get("defaultValue")
    return given[1].content if given else "${policy}"


def _with_locals(node: Node, local: Entries, depth: int) -> Node:
    content = node.content
    if depth > MAX_DEPTH:
        return node
    if isinstance(content, str) and (match := LOCAL.match(content)) and match[1] in local:
        return Node(node.line, _with_locals(local[match[1]][1], local, depth + 1).content)
    if isinstance(content, list):
        return Node(node.line, [_with_locals(item, local, depth + 1) for item in content])
    if isinstance(content, dict):
        entries = {key: (line, _with_locals(child, local, depth + 1)) for key, (line, child) in content.items()}
        return Node(node.line, entries)
    return node
