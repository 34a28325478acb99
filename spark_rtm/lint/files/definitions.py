"""Check cluster and job definitions in JSON and, if PyYAML is installed, in YAML."""

import re
from collections.abc import Callable, Iterator

from spark_rtm.lint.files.documents import MAX_VALUES, Node, TooManyValuesError
from spark_rtm.lint.files.tree import in_one_form
from spark_rtm.lint.rules.cluster import CLUSTER_RULES, Cluster
from spark_rtm.lint.rules.rule import Module, RuleProblem
from spark_rtm.lint.rules.setting import SETTING_RULES
from spark_rtm.lint.rules.unchecked import Steps
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
"""A name, and its line number."""
CONFS = ("spark_conf", "configuration")
KEY_RULES = [rule for rule in SETTING_RULES if rule.id in {"unknown-setting", "check-off", "shuffle-manager"}]
REAL_TIME_KEY = re.compile(r"\bspark\.[\w.]*real[-_.]?time", re.IGNORECASE)
REAL_TIME_NAME = re.compile(r"(?:^|[^a-z])rtm(?:[^a-z]|$)|real[-_ ]?time[-_ ]?(?:mode|trigger)", re.IGNORECASE)


def definition_problems(text: str, read: Callable[[str], list[Node]]) -> list[RuleProblem]:
    """
    Return the problems in a cluster or job definition.

    Other documents and definitions without real-time mode have no problems, so they are not parsed.
    """
    if not (REAL_TIME_NAME.search(text) or REAL_TIME_KEY.search(text)) or not any(key in text for key in RELEVANT_KEYS):
        return []
    found = [each for root in read(text) for each in _Clusters().below(in_one_form(root))]
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


def _kind(content: dict[str, tuple[int, Node]]) -> str:
    """Return the kind of a definition (see `Cluster.kind`), or an empty string."""
    sizes = content["autoscale"][1].content if "autoscale" in content else None
    if CLUSTER_KEYS & content.keys() or (isinstance(sizes, dict) and "min_workers" in sizes):
        return "cluster"
    if _is_pipeline(content):
        return "pipeline"
    return "serverless task" if "environment_key" in content and "task_key" in content else ""


def _is_pipeline(content: dict[str, tuple[int, Node]]) -> bool:
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
