"""Queues of Kueue with a quota, jobs in them, and how much of the quota the pods of these jobs request."""

from .cluster import OURS
from .jobs import LABEL, TERMINAL, label, phase, training
from .sampler import Sampler

API = "kueue.x-k8s.io/v1beta2"
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
PRIORITY_LABEL = "kueue.x-k8s.io/priority-class"
TIME_LABEL = "kueue.x-k8s.io/max-exec-time-seconds"
POOL = {"e2e.espalier.io/pool": "spot"}
TAINT = {"key": "spot", "value": "true", "effect": "NoSchedule"}
TOLERATION = {"key": "spot", "operator": "Exists"}
POOL_NODES = 3
NEVER = "never"  # this incarnation runs until it is stopped


def queued(name, queue="spot", *, priority="", max_seconds="", min_trainers=0, **options):
    document = training(name, **options)
    labels = {QUEUE_LABEL: queue, PRIORITY_LABEL: priority, TIME_LABEL: max_seconds}
    document["metadata"]["labels"] = {key: value for key, value in labels.items() if value}
    if min_trainers:
        document["spec"]["trainers"]["minReplicas"] = min_trainers
    return document


def make_queues(plane, kueue, namespace, quota):
    """`quota`: {queue: millicores}. The queue "spot" has the flavor of a pool of nodes with a taint. The priorities are
    "batch" and "urgent"."""
    for node in [node["metadata"]["name"] for node in plane.api.list("Node")][:POOL_NODES]:
        plane.api.patch("Node", None, node, {"metadata": {"labels": POOL}, "spec": {"taints": [TAINT]}})
    kueue.create({"apiVersion": API, "kind": "ResourceFlavor", "metadata": {"name": "spot"},
                  "spec": {"nodeLabels": POOL, "tolerations": [TOLERATION]}})
    kueue.create({"apiVersion": API, "kind": "ResourceFlavor", "metadata": {"name": "small"}})
    for name, value in (("batch", 10), ("urgent", 1000)):
        kueue.create({"apiVersion": API, "kind": "WorkloadPriorityClass", "metadata": {"name": name}, "value": value})
    for name, millicores in quota.items():
        resources = [{"name": "cpu", "nominalQuota": f"{millicores}m"}, {"name": "memory", "nominalQuota": "64Gi"}]
        kueue.create({"apiVersion": API, "kind": "ClusterQueue", "metadata": {"name": name}, "spec": {
            "namespaceSelector": {}, "preemption": {"withinClusterQueue": "LowerPriority"},
            "resourceGroups": [{"coveredResources": ["cpu", "memory"], "flavors": [{"name": name, "resources": resources}]}]}})
        kueue.create({"apiVersion": API, "kind": "LocalQueue", "metadata": {"name": name}, "spec": {"clusterQueue": name}},
                     namespace)


def _millicores(quantity):
    return int(quantity[:-1]) if quantity.endswith("m") else 1000 * int(quantity)


class QuotaUsage(Sampler):
    """Sums the requests of the pods of each queue's jobs, several times a second until stop. Excludes the jobs
    `uncounted`, which may run without a quota."""

    def __init__(self, api, namespace, quota, uncounted=()):
        self.api = api
        self.namespace = namespace
        self.quota = quota
        self.uncounted = uncounted
        self.most = {}  # queue -> millicores
        self.pods = {}  # name -> the pod as last observed
        self.exceeded = []
        super().__init__()

    def report_to(self, report):
        report.row("samples of the pods", self.samples)
        for queue, most in sorted(self.most.items()):
            report.row(f"{queue}: most in use, quota (millicores)", f"{most}, {self.quota[queue]}")
        report.expect_none(self.exceeded, "no quota was exceeded")
        report.expect_none(self.failures, "every sample was taken")

    def sample(self):
        pods = self.api.list("Pod", self.namespace, OURS)
        # The quota of a job that has ended or is deleted is free, although its pods may still be stopping.
        queues = {job["metadata"]["name"]: label(job, QUEUE_LABEL) for job in self.api.list("DistTraining", self.namespace)
                  if phase(job) not in TERMINAL and "deletionTimestamp" not in job["metadata"]}
        used = {}
        for pod in pods:
            self.pods[pod["metadata"]["name"]] = pod
            job = label(pod, LABEL)
            queue = queues.get(job)
            if queue and job not in self.uncounted and pod["status"].get("phase") not in TERMINAL:
                used[queue] = used.get(queue, 0) + sum(_millicores(one["resources"]["requests"]["cpu"])
                                                       for one in pod["spec"]["containers"])
        for queue, millicores in used.items():
            self.most[queue] = max(millicores, self.most.get(queue, 0))
            if millicores > self.quota[queue]:
                self.exceeded.append(f"{queue}: {millicores}m in use, sample {self.samples}")
