"""Kueue preempts a job for an urgent one: it writes a checkpoint, is admitted again, and ends with the same parameters."""

import json

from control_plane.queued_jobs import API, PRIORITY_LABEL, QUEUE_LABEL
from runner.kueue_manager import kueue_manager
from runner.world import CORA, ENDLESS

LEVEL = "full"
SECONDS = 720
NEEDS_OWN_CLUSTER = True  # Kueue's webhooks are on the API server's loopback
NEEDS_TOOLS = ["kueue"]
# A job of cora.yaml requests 350m with its partitioner, and 300m without it: one fits at a time.
QUOTA = {"cpu": "400m", "memory": "16Gi"}
PRIORITIES = {"batch": 10, "urgent": 1000}


def run_steps(world):
    world.train_undisturbed()
    namespace = world.namespace
    with kueue_manager() as kueue:
        make_queue(kueue, namespace)
        world.chart.install("kueue.enabled=true")
        try:
            preempt(world, namespace)
        finally:
            world.chart.install("kueue.enabled=false")


def make_queue(kueue, namespace):
    resources = [{"name": name, "nominalQuota": quantity} for name, quantity in QUOTA.items()]
    kueue.create({"apiVersion": API, "kind": "ResourceFlavor", "metadata": {"name": "any"}})
    for name, value in PRIORITIES.items():
        kueue.create({"apiVersion": API, "kind": "WorkloadPriorityClass", "metadata": {"name": name}, "value": value})
    kueue.create({"apiVersion": API, "kind": "ClusterQueue", "metadata": {"name": "training"}, "spec": {
        "namespaceSelector": {}, "preemption": {"withinClusterQueue": "LowerPriority"},
        "resourceGroups": [{"coveredResources": list(QUOTA), "flavors": [{"name": "any", "resources": resources}]}]}})
    kueue.create({"apiVersion": API, "kind": "LocalQueue", "metadata": {"name": "training"},
                  "spec": {"clusterQueue": "training"}}, namespace.name)


def preempt(world, namespace):
    apply(namespace, "cora", "batch")
    namespace.wait_for_checkpoint("cora", 180)
    apply(namespace, "waiting", "batch", epochs=ENDLESS)
    namespace.wait_for_condition("waiting", "QuotaReserved", "False", "Pending", 60)
    assert not namespace.pods("waiting"), namespace.pods("waiting")
    world.note(f"waiting: {namespace.condition('waiting', 'QuotaReserved')['message']}")
    namespace.delete_job("waiting", 60)

    apply(namespace, "urgent", "urgent", epochs="20")
    job = namespace.wait_for_phase("cora", "Suspended", 90)
    assert job["status"]["attempts"]["counted"] == 0, job["status"]["attempts"]
    world.note(f"cora: {namespace.condition('cora', 'QuotaReserved')['message']}")
    job = namespace.wait_for_phase("urgent", "Succeeded", 240)
    assert job["status"]["incarnation"] == 1, job["status"]

    job = namespace.wait_for_phase("cora", "Succeeded", 300)
    assert job["status"]["incarnation"] == 2, job["status"]
    assert job["status"]["attempts"]["counted"] == 0, job["status"]["attempts"]
    namespace.wait_for("the Workload of cora is Finished", 60,
                       lambda: workload_condition(namespace, "cora", "Finished") == "True")
    world.expect_as_undisturbed("cora")


def apply(namespace, name, priority, **values):
    """Applies a job of cora.yaml that has the labels of the queue from its beginning."""
    labels = json.dumps({QUEUE_LABEL: "training", PRIORITY_LABEL: priority})
    document = namespace.document(CORA, name=name, **values).replace("metadata:\n", f"metadata:\n  labels: {labels}\n", 1)
    namespace.kubectl("apply", "--filename", "-", stdin=document)


def workload_condition(namespace, job, kind):
    found = json.loads(namespace.kubectl("get", "workloads.kueue.x-k8s.io", f"{job}-workload", "--output=json"))
    return next((one["status"] for one in found["status"]["conditions"] if one["type"] == kind), None)
