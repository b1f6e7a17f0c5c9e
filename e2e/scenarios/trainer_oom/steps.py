"""Trainers get less memory than their model needs: the job says so, and goes on when they get more."""

from runner.namespace import TOO_LITTLE_MEMORY
from runner.world import CORA

LEVEL = "ci"
SECONDS = 240


def story(world):
    namespace = world.namespace
    namespace.apply(CORA, epochs="3", **TOO_LITTLE_MEMORY)
    namespace.wait_for_condition("cora", "Restarting", "True", "OOMKilled", 120)
    error = namespace.job("cora")["status"]["lastError"]
    assert error["role"] == "trainer" and error["reason"] == "OOMKilled", error
    described = namespace.plugin("describe", "cora")
    for words in ("Restarting=True, OOMKilled", "Raise spec.trainers.resources.limits.memory"):
        assert words in described, (words, described)

    # What a role may use changes while a job is suspended, and only then.
    namespace.patch("cora", {"spec": {"runPolicy": {"suspend": True}}})
    namespace.wait_for_phase("cora", "Suspended", 90)
    enough = {"memory": "1Gi"}
    namespace.patch("cora", {"spec": {"trainers": {"resources": {"requests": enough, "limits": enough}}}})
    namespace.patch("cora", {"spec": {"runPolicy": {"suspend": False}}})
    job = namespace.wait_for_phase("cora", "Succeeded", 120)
    assert job["status"]["attempts"]["counted"] >= 1, job["status"]["attempts"]
