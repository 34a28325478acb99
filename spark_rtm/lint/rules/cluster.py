"""Rules for Databricks clusters, pipelines and jobs that run real-time mode."""

import re
from collections.abc import Iterator

from spark_rtm.lint.facts import Cluster, Object
from spark_rtm.lint.problem import Problem
from spark_rtm.lint.rules.rule import DATABRICKS_ONLY, Rules
from spark_rtm.lint.spark.known_settings import FLAG
from spark_rtm.lint.spark.values import quoted

RULES = Rules()
VERSION = re.compile(r"(\d{1,4})\.(\d{1,4})")
WITHOUT_DISK = re.compile(r"^[mcrt][2-9](?:-?flex|[abeginz])*\.\w+$")
"""Pattern for AWS machine types without a local disk. Types with a local disk have a `d` after the number."""
MIN_RUNTIME = (16, 4)


@RULES.add("cluster-autoscale", DATABRICKS_ONLY, subject="cluster")
def cluster_autoscale(cluster: Cluster) -> Iterator[Problem]:
    """
    Checks for autoscaling on clusters that run real-time mode.

    Why: A query occupies its task slots for the whole batch, so workers cannot be added or removed during a batch.

    Reported at: `autoscale`.

    Example:
        {"autoscale": {"min_workers": 1, "max_workers": 8},
        "spark_conf": {"spark.databricks.streaming.realTimeMode.enabled": "true"}}
    Use instead: {"num_workers": 4, "spark_conf": {"spark.databricks.streaming.realTimeMode.enabled": "true"}}
    Source: [setup]
    """
    if cluster.keys.get("autoscale"):
        message = "the cluster uses autoscaling, but a real-time query occupies its task slots for the whole batch"
        yield cluster.problem("autoscale", message, "replace autoscale with num_workers")


@RULES.add("cluster-photon", DATABRICKS_ONLY, subject="cluster")
def cluster_photon(cluster: Cluster) -> Iterator[Problem]:
    """
    Checks for Photon on clusters that run real-time mode.

    Why: The Databricks documentation instructs you to turn Photon off.

    Reported at: the key that turns Photon on. A missing `runtime_engine` is not reported.

    Example: {"runtime_engine": "PHOTON", "spark_conf": {"spark.databricks.streaming.realTimeMode.enabled": "true"}}
    Use instead:
        {"runtime_engine": "STANDARD", "spark_conf": {"spark.databricks.streaming.realTimeMode.enabled": "true"}}
    Source: [setup]
    """
    message = "Photon is on, but real-time mode does not support Photon"
    for key, value in (("runtime_engine", "photon"), ("spark_version", ".*photon.*"), ("photon", "true")):
        # Serverless pipelines run real-time mode with Photon.
        if cluster.kind != "pipeline" and re.fullmatch(value, cluster.text(key), re.IGNORECASE):
            yield cluster.problem(key, message, 'write "runtime_engine": "STANDARD"')


@RULES.add("cluster-spot", DATABRICKS_ONLY, subject="cluster")
def cluster_spot(cluster: Cluster) -> Iterator[Problem]:
    """
    Checks for spot instances in clusters that run real-time mode.

    Why: When the cloud provider reclaims a worker, the query fails, and its restart replays the current batch.

    Reported at: `availability`.

    Example:
        {"aws_attributes": {"availability": "SPOT_WITH_FALLBACK"},
        "spark_conf": {"spark.databricks.streaming.realTimeMode.enabled": "true"}}
    Use instead:
        {"aws_attributes": {"availability": "ON_DEMAND"},
        "spark_conf": {"spark.databricks.streaming.realTimeMode.enabled": "true"}}
    Source: [setup]
    """
    fix = "set availability to ON_DEMAND (on Azure ON_DEMAND_AZURE, on GCP ON_DEMAND_GCP)"
    for cloud in ("aws_attributes", "azure_attributes", "gcp_attributes"):
        attributes = cluster.keys.get(cloud)
        if not isinstance(attributes, Object):
            continue
        value = str(attributes.get("availability", ""))
        if value.upper().startswith(("SPOT", "PREEMPTIBLE")) and not _are_on_demand(cluster, attributes):
            message = f"the workers have availability {quoted(value)}, so the query fails if a worker is reclaimed"
            yield Problem(attributes.lines["availability"], message, fix)


def _are_on_demand(cluster: Cluster, attributes: Object) -> bool:
    """Return whether the first nodes, which are on demand, include the driver and all workers."""
    first, workers = str(attributes.get("first_on_demand")), cluster.text("num_workers")
    return first.isdecimal() and workers.isdecimal() and int(first[:9]) > int(workers[:9])


@RULES.add("cluster-runtime", DATABRICKS_ONLY, subject="cluster")
def cluster_runtime(cluster: Cluster) -> Iterator[Problem]:
    """
    Checks for clusters that run real-time mode on a Databricks Runtime below 16.4 LTS.

    Why: Older runtimes do not support real-time mode.

    Reported at: `spark_version`.

    Example:
        {"spark_version": "15.4.x-scala2.12", "spark_conf": {"spark.databricks.streaming.realTimeMode.enabled": "true"}}
    Use instead:
        {"spark_version": "17.3.x-scala2.13", "spark_conf": {"spark.databricks.streaming.realTimeMode.enabled": "true"}}
    Source: [setup]
    """
    match = VERSION.match(cluster.text("spark_version"))
    if match and (int(match[1]), int(match[2])) < MIN_RUNTIME:
        message = f"Databricks Runtime {match[0]} does not support real-time mode"
        yield cluster.problem("spark_version", message, "use 16.4 LTS or later, preferably 18 LTS")


@RULES.add("cluster-flag", DATABRICKS_ONLY, subject="cluster")
def cluster_flag(cluster: Cluster) -> Iterator[Problem]:
    """
    Checks for clusters whose name refers to real-time mode, but whose settings lack the real-time mode flag.

    Why: Unless the flag is set when the cluster boots, queries fail with CLUSTER_CONFIGURATION_NOT_SUPPORTED.

    Reported at: the flag if its value is not `true`; otherwise `spark_conf`; without it, the name that refers to
    real-time mode. Such a name contains `rtm` as a word, or `real-time mode`; `realtime` alone is not enough.

    Example: {"cluster_name": "real-time mode", "spark_version": "17.3.x-scala2.13", "num_workers": 4}
    Use instead:
        {"cluster_name": "real-time mode", "spark_conf": {"spark.databricks.streaming.realTimeMode.enabled": "true"}}
    Source: [error list]
    """
    if cluster.kind == "cluster" and not cluster.has_flag and not cluster.is_open:
        line = cluster.conf.lines.get(FLAG) or cluster.keys.lines.get("spark_conf") or cluster.named_at
        message = "the cluster does not set the real-time mode flag, so its real-time queries fail"
        yield Problem(line, message, f'add "{FLAG}": "true" to spark_conf')


@RULES.add("cluster-volumes", DATABRICKS_ONLY, subject="cluster")
def cluster_volumes(cluster: Cluster) -> Iterator[Problem]:
    """
    Checks for AWS clusters that run real-time mode with neither local disks nor EBS volumes.

    Why: The cluster cannot be created, because it has no disk for state and shuffle files.

    Reported at: `node_type_id`.

    Example: {"node_type_id": "m5.xlarge", "spark_conf": {"spark.databricks.streaming.realTimeMode.enabled": "true"}}
    Use instead:
        {"node_type_id": "m5.xlarge", "aws_attributes": {"ebs_volume_count": 1, "ebs_volume_size": 100},
        "spark_conf": {"spark.databricks.streaming.realTimeMode.enabled": "true"}}
    Source: [instances]
    """
    name = cluster.text("node_type_id")
    attributes = cluster.keys.get("aws_attributes")
    has_volumes = isinstance(attributes, Object) and str(attributes.get("ebs_volume_count", "0")) != "0"
    is_known = not isinstance(attributes, str) and not cluster.is_open
    has_disk = has_volumes or cluster.keys.get("enable_elastic_disk") not in {None, False}
    if is_known and not has_disk and WITHOUT_DISK.match(name):
        problem = f"the machine type {quoted(name)} has no local disk and the cluster has no EBS volumes"
        fix = "set aws_attributes.ebs_volume_count, or use a type with disks such as i3 or m5d"
        yield cluster.problem("node_type_id", f"{problem}, so its creation fails", fix)


@RULES.add("pipeline-continuous", DATABRICKS_ONLY, subject="cluster")
def pipeline_continuous(cluster: Cluster) -> Iterator[Problem]:
    """
    Checks for declarative pipelines with the real-time mode flag that are not continuous.

    Why: Real-time mode in a pipeline requires the continuous pipeline mode, because its flows never end.

    Reported at: `continuous`, or the flag if `continuous` is missing.

    Example: {"continuous": false, "configuration": {"spark.databricks.streaming.realTimeMode.enabled": "true"}}
    Use instead: {"continuous": true, "configuration": {"spark.databricks.streaming.realTimeMode.enabled": "true"}}
    Source: [pipelines]
    """
    is_triggered = cluster.text("continuous").lower() in {"", "false"} and "<<" not in cluster.keys
    if cluster.kind == "pipeline" and cluster.has_flag and is_triggered:
        line = cluster.keys.lines.get("continuous", cluster.conf.lines[FLAG])
        message = "the pipeline is not continuous, so its flows cannot run in real-time mode"
        yield Problem(line, message, "set continuous to true")


@RULES.add("job-serverless", DATABRICKS_ONLY, subject="cluster")
def job_serverless(cluster: Cluster) -> Iterator[Problem]:
    """
    Checks for serverless tasks in jobs whose name refers to real-time mode.

    Why: Serverless jobs do not support triggers that never end, such as the real-time trigger.

    Reported at: `environment_key`.

    Example: {"name": "real-time mode", "tasks": [{"task_key": "run", "environment_key": "default"}]}
    Use instead:
        {"name": "real-time mode", "tasks": [{"task_key": "run", "existing_cluster_id": "0923-164208-abcdefgh"}]}
    Source: [setup]
    """
    if cluster.kind == "serverless task":
        message = "the task runs on serverless compute, which does not support the real-time trigger"
        yield cluster.problem(
            "environment_key", message, "run the task on classic compute with the real-time mode flag"
        )
