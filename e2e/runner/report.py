"""The report of a failed scenario: objects, events and logs of its namespace and of the operator. On a cluster of
e2e/cluster also logs of deleted pods and of the cluster's own processes, and the data of Prometheus."""

import json
import os

from runner import cluster_logs
from runner.chart import NAMESPACE
from runner.commands import Failure, attempt

KINDS = ("disttrainings,pods,jobs,statefulsets,deployments,replicasets,services,configmaps,networkpolicies,"
         "poddisruptionbudgets,serviceaccounts")


def write(folder, namespace):
    folder.mkdir(parents=True, exist_ok=True)
    for place in (namespace, NAMESPACE):
        _keep(folder / f"{place}.objects.yaml", ["get", KINDS, "--namespace", place, "--output=yaml"])
        _keep(folder / f"{place}.podgroups.yaml", ["get", "podgroups", "--namespace", place, "--output=yaml"], only_good=True)
        _keep(folder / f"{place}.events.txt", ["get", "events", "--namespace", place, "--sort-by=.lastTimestamp"])
        _keep(folder / f"{place}.describe.txt", ["describe", "pods", "--namespace", place])
        for pod in _pods(place):
            _keep(folder / f"{place}.{pod}.log", ["logs", pod, "--namespace", place, "--all-containers"])
            _keep(folder / f"{place}.{pod}.previous.log",
                  ["logs", pod, "--namespace", place, "--all-containers", "--previous"], only_good=True)
    _keep(folder / "nodes.txt", ["describe", "nodes"])
    cluster = cluster_logs.this_cluster()
    if cluster is not None:
        cluster_logs.copy(cluster, namespace, folder)
        for subject in ("alerts", "targets"):
            _keep_output(folder / f"prometheus.{subject}.json", [
                "curl", "--silent", "--show-error", f"{os.environ['ESPALIER_E2E_PROMETHEUS']}/api/v1/{subject}"])


def _pods(namespace):
    """Returns the pods' names, or an empty list if the API does not respond, so that the rest is still reported."""
    try:
        done = attempt(["kubectl", "get", "pods", "--namespace", namespace, "--output=json"], timeout=30)
    except Failure:
        return []
    return [pod["metadata"]["name"] for pod in json.loads(done.stdout)["items"]] if done.returncode == 0 else []


def _keep(path, arguments, only_good=False):
    _keep_output(path, ["kubectl", *arguments], only_good)


def _keep_output(path, command, only_good=False):
    try:
        done = attempt(command, timeout=30)
    except Failure as failure:
        path.write_text(f"{failure}\n")
        return
    if done.returncode == 0 or not only_good:
        path.write_text(done.stdout + done.stderr)
