"""Two trainers in one pod, which share feature rows: the second one is killed: the same parameters."""

import re

from runner import containers
from runner.namespace import ADMIN_PORT
from runner.world import CORA

LEVEL = "full"
SECONDS = 480
NEEDS_OWN_CLUSTER = True  # no API kills a container
TRAINERS = ["trainer", "trainer-1"]  # containers of the pod: rank 0 and rank 1
SHARED_ROWS = r"^espalier_trainer_feature_cache_shared_rows_total(?:\{.*\})? (\S+)$"


def run_steps(world):
    world.train_undisturbed()  # with one trainer per pod, and without a cache
    namespace = world.namespace
    namespace.apply(CORA, trainer_containers="2", feature_cache="featureCache: {memory: 1Mi, sharedMemory: 32Mi}")
    namespace.wait_for_checkpoint("cora", 120)
    pod = only_pod(namespace)
    names = [container["name"] for container in pod["spec"]["containers"]]
    assert names == TRAINERS, names
    found = [shared_rows(namespace, pod, trainer) for trainer in TRAINERS]
    world.note(f"rows that were found in shared memory: {found}")
    assert any(found), found

    before = namespace.job("cora")["status"]["incarnation"]
    containers.kill(pod, TRAINERS[1])
    namespace.wait_for("a new incarnation", 60, lambda: namespace.job("cora")["status"]["incarnation"] > before)
    namespace.wait_until_it_trains("cora", 120)
    assert only_pod(namespace)["metadata"]["uid"] != pod["metadata"]["uid"]

    job = namespace.wait_for_phase("cora", "Succeeded", 300)
    assert job["status"]["attempts"]["counted"] == 1, job["status"]["attempts"]
    assert job["status"]["trainerReplicas"] == 2, job["status"]
    world.expect_as_undisturbed("cora")


def only_pod(namespace):
    pods = list(namespace.pods("cora", "trainer").values())
    assert len(pods) == 1, sorted(pod["metadata"]["name"] for pod in pods)
    return pods[0]


def shared_rows(namespace, pod, trainer):
    metrics = namespace.metrics(pod["metadata"]["name"], ADMIN_PORT + TRAINERS.index(trainer))
    return sum(map(float, re.findall(SHARED_ROWS, metrics, re.MULTILINE)))
