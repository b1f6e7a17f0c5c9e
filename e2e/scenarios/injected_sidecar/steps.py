"""A webhook adds a container that does not end to each pod and suspends a Job: a killed trainer restarts, the job succeeds."""

import json

from cluster_setup.node import PAUSE_IMAGE
from runner import containers
from runner.admission import Mutation
from runner.world import CORA

LEVEL = "full"
SECONDS = 420
NEEDS_OWN_CLUSTER = True  # no API kills a process, and the webhook is on the API server's loopback
SIDECAR = {"name": "a-proxy", "image": PAUSE_IMAGE, "imagePullPolicy": "IfNotPresent", "securityContext": {
    "allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}, "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"}}}
PARTITION_JOB = "cora-partition-1"


def patch_of(created):
    """Returns the changes of Istio to pods (a container before the program's, not a native sidecar) and of Kueue to Jobs."""
    if created["kind"] == "Pod":
        return [{"op": "add", "path": "/spec/containers/0", "value": SIDECAR}]
    if created["metadata"]["name"] == PARTITION_JOB:
        return [{"op": "add", "path": "/spec/suspend", "value": True}]
    return []


def run_steps(world):
    namespace = world.namespace
    with Mutation(namespace, [("", "pods"), ("batch", "jobs")], patch_of):
        namespace.apply(CORA, epochs="120")
        namespace.wait_for_condition("cora", "Partitioned", "False", "JobSuspended", 60)
        said = namespace.condition("cora", "Partitioned")["message"]
        assert PARTITION_JOB in said and "an admission webhook" in said, said
        described = namespace.plugin("describe", "cora")
        assert "manageJobsWithoutQueueName" in described, described
        namespace.kubectl("patch", "job", PARTITION_JOB, "--patch", json.dumps({"spec": {"suspend": False}}))

        namespace.wait_for_checkpoint("cora", 180)
        pod = namespace.pods("cora", "trainer")[min(namespace.pods("cora", "trainer"))]
        assert [status["name"] for status in pod["status"]["containerStatuses"]].count("a-proxy") == 1, pod
        containers.kill(pod, "trainer")
        namespace.wait_for("a new incarnation", 60, lambda: namespace.job("cora")["status"]["incarnation"] > 1)
        job = namespace.wait_for_phase("cora", "Succeeded", 240)
        assert job["status"]["attempts"]["counted"] == 1, job["status"]["attempts"]
        world.note(f"ended as incarnation {job['status']['incarnation']}: "
                   f"{namespace.condition('cora', 'TrainersReady')['message']}")
        namespace.wait_until_gone("pods that the sidecar holds", 120, lambda: namespace.pods("cora"))
        described = namespace.plugin("describe", "cora")
        assert "nothing: the job has succeeded" in described, described
