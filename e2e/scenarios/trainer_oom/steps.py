"""Trainers get less memory than their model needs: a condition shows it, and the job continues when they get more."""

from runner.namespace import TOO_LITTLE_MEMORY
from runner.world import CORA

LEVEL = "ci"
SECONDS = 240


def run_steps(world):
    namespace = world.namespace
    namespace.apply(CORA, epochs="3", **TOO_LITTLE_MEMORY)
    namespace.wait_for_condition("cora", "Restarting", "True", "OOMKilled", 120)
    error = namespace.job("cora")["status"]["lastError"]
    assert error["role"] == "trainer" and error["reason"] == "OOMKilled", error
    described = namespace.plugin("describe", "cora")
    for words in ("Restarting=True, OOMKilled", "Raise spec.trainers.resources.limits.memory"):
        assert words in described, (words, described)

    # At the same time, a job without retries.
    namespace.apply(CORA, name="hopeless", trainers="1", epochs="3", **TOO_LITTLE_MEMORY)
    namespace.patch("hopeless", {"spec": {"runPolicy": {"backoffLimit": 0}}})

    # The resources of a role can be changed only while a job is suspended.
    namespace.patch("cora", {"spec": {"runPolicy": {"suspend": True}}})
    namespace.wait_for_phase("cora", "Suspended", 90)
    enough = {"memory": "1Gi"}
    namespace.patch("cora", {"spec": {"trainers": {"resources": {"requests": enough, "limits": enough}}}})
    namespace.patch("cora", {"spec": {"runPolicy": {"suspend": False}}})
    job = namespace.wait_for_phase("cora", "Succeeded", 120)
    assert job["status"]["attempts"]["counted"] >= 1, job["status"]["attempts"]

    last_words_are_described(namespace, "hopeless")


def last_words_are_described(namespace, name):
    """Checks that a failed job keeps its pod: `describe` shows the last lines of its log from the kubelet."""
    error = namespace.wait_for_phase(name, "Failed", 90)["status"]["lastError"]
    said = namespace.kubectl("logs", error["pod"], "--container=trainer", "--tail=15").splitlines()
    described = namespace.plugin("describe", name)
    shown = [line.removeprefix("  | ") for line in described.splitlines() if line.startswith("  | ")]
    assert "Last lines of container trainer:" in described and said and shown == said, (said, described)
