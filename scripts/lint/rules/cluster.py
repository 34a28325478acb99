"""Rules for Databricks clusters that run real-time mode: flag, workers, runtime version and Photon."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from scripts.lint.rules.rule import DATABRICKS_ONLY, Problem, Rules
from scripts.lint.rules.setting import FLAG
from scripts.lint.spark.values import quoted

CLUSTER_RULES = Rules()
VERSION = re.compile(r"^(\d{1,4})\.(\d{1,4}|x)")
MIN_RUNTIME = (16, 4)


@dataclass
class Cluster:
    """One cluster in a definition file; `lines` maps each dotted key to its line number."""

    keys: dict[str, object] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    line: int = 1
    has_flag: bool = False
    is_real_time: bool = False
    """Whether the flag or a name, such as the cluster's or the job's name, indicates real-time mode."""


@CLUSTER_RULES.add("cluster-autoscale", DATABRICKS_ONLY, subject="cluster")
def cluster_autoscale(cluster: Cluster) -> Iterator[Problem]:
    """
    Checks for autoscaling on clusters for real-time mode.

    Why: A query holds its task slots for the whole batch, so workers cannot be added or removed during a batch.

    Example:
        {"autoscale": {"min_workers": 1, "max_workers": 8},
        "spark_conf": {"spark.databricks.streaming.realTimeMode.enabled": "true"}}
    Use instead:
        {"num_workers": 4, "spark_conf": {"spark.databricks.streaming.realTimeMode.enabled": "true"}}
    Source: [setup]
    """
    if cluster.is_real_time and cluster.keys.get("autoscale"):
        message = "the cluster uses autoscaling, but a real-time query holds its task slots for the whole batch"
        yield Problem(cluster.lines.get("autoscale", cluster.line), message, "replace autoscale with num_workers")


@CLUSTER_RULES.add("cluster-photon", DATABRICKS_ONLY, subject="cluster")
def cluster_photon(cluster: Cluster) -> Iterator[Problem]:
    """
    Checks for clusters that run real-time mode but do not turn Photon off.

    Why: The Databricks documentation instructs you to turn Photon off.

    Example:
        {"runtime_engine": "PHOTON", "spark_conf": {"spark.databricks.streaming.realTimeMode.enabled": "true"}}
    Use instead:
        {"runtime_engine": "STANDARD", "spark_conf": {"spark.databricks.streaming.realTimeMode.enabled": "true"}}
    Source: [setup]
    """
    if not cluster.is_real_time:
        return
    is_engine = str(cluster.keys.get("runtime_engine", "")).upper() == "PHOTON"
    for key, is_on in (
        ("runtime_engine", is_engine),
        ("spark_version", "photon" in str(cluster.keys.get("spark_version", "")).lower()),
        ("photon", cluster.keys.get("photon") is True),
    ):
        if is_on:
            message = "Photon is on, but real-time mode does not run with Photon"
            yield Problem(cluster.lines.get(key, cluster.line), message, 'write "runtime_engine": "STANDARD"')


@CLUSTER_RULES.add("cluster-spot", DATABRICKS_ONLY, subject="cluster")
def cluster_spot(cluster: Cluster) -> Iterator[Problem]:
    """
    Checks for spot instances on clusters for real-time mode.

    Why: When the cloud provider reclaims a worker, the query fails and then replays the rows of the current batch.

    Example:
        {"aws_attributes": {"availability": "SPOT_WITH_FALLBACK"},
        "spark_conf": {"spark.databricks.streaming.realTimeMode.enabled": "true"}}
    Use instead:
        {"aws_attributes": {"availability": "ON_DEMAND"},
        "spark_conf": {"spark.databricks.streaming.realTimeMode.enabled": "true"}}
    Source: [setup]
    """
    if not cluster.is_real_time:
        return
    for cloud in ("aws_attributes", "azure_attributes", "gcp_attributes"):
        attributes = cluster.keys.get(cloud)
        value = str(attributes.get("availability", "")) if isinstance(attributes, dict) else ""
        if value.upper().startswith(("SPOT", "PREEMPTIBLE")):
            message = f"the workers have availability {quoted(value)}, so the query fails when the cloud reclaims one"
            line = cluster.lines.get(f"{cloud}.availability", cluster.line)
            yield Problem(
                line, message, "set availability to ON_DEMAND (on Azure ON_DEMAND_AZURE, on GCP ON_DEMAND_GCP)"
            )


@CLUSTER_RULES.add("cluster-runtime", DATABRICKS_ONLY, subject="cluster")
def cluster_runtime(cluster: Cluster) -> Iterator[Problem]:
    """
    Checks for Databricks Runtime versions below 16.4 LTS on clusters for real-time mode.

    Why: Older runtimes do not support real-time mode.

    Example:
        {"spark_version": "15.4.x-scala2.12", "spark_conf": {"spark.databricks.streaming.realTimeMode.enabled": "true"}}
    Use instead:
        {"spark_version": "17.3.x-scala2.13", "spark_conf": {"spark.databricks.streaming.realTimeMode.enabled": "true"}}
    Source: [setup]
    """
    match = VERSION.match(str(cluster.keys.get("spark_version", "")))
    if cluster.is_real_time and match and match[2] != "x" and (int(match[1]), int(match[2])) < MIN_RUNTIME:
        message = f"Databricks Runtime {match[0]} does not support real-time mode"
        line = cluster.lines.get("spark_version", cluster.line)
        yield Problem(line, message, "use 16.4 LTS or later, preferably 18 LTS")


@CLUSTER_RULES.add("cluster-flag", DATABRICKS_ONLY, subject="cluster")
def cluster_flag(cluster: Cluster) -> Iterator[Problem]:
    """
    Checks for clusters whose name refers to real-time mode, but whose settings lack the real-time mode flag.

    Why: Unless the flag is set when the cluster boots, queries fail with CLUSTER_CONFIGURATION_NOT_SUPPORTED.

    Example:
        {"cluster_name": "real-time mode", "spark_version": "17.3.x-scala2.13", "num_workers": 4}
    Use instead:
        {"cluster_name": "real-time mode", "spark_conf": {"spark.databricks.streaming.realTimeMode.enabled": "true"}}
    Source: [error list]
    """
    if cluster.is_real_time and not cluster.has_flag:
        line = cluster.lines.get("flag", cluster.lines.get("spark_conf", cluster.line))
        message = "the cluster does not set the real-time mode flag, so its real-time queries fail"
        yield Problem(line, message, f'add "{FLAG}": "true" to spark_conf')
