"""The number of trainers is lowered, then raised, during training: no attempt is counted, and the accuracy is the same."""

from runner.world import CORA

LEVEL = "full"
SECONDS = 600
LEAST_ACCURACY = 0.77  # as on one machine; with other numbers of trainers sums differ in their last bits


def run_steps(world):
    namespace = world.namespace
    namespace.apply(CORA)
    namespace.wait_for_checkpoint("cora", 120)
    for replicas in (1, 3):
        namespace.kubectl("scale", "disttraining", "cora", f"--replicas={replicas}")
        namespace.wait_for(f"{replicas} trainers", 90, lambda: running(namespace) == replicas)
        world.note(f"{replicas} trainers")
        if replicas == 1:
            namespace.wait_until_it_trains("cora", 120)

    job = namespace.wait_for_phase("cora", "Succeeded", 300)
    assert job["status"]["incarnation"] == 3, job["status"]
    assert job["status"]["attempts"]["counted"] == 0, job["status"]["attempts"]
    result = namespace.result("cora")
    world.note(f"accuracy {result['testAccuracy']:.3f}")
    assert result["trainers"] == 3, result["trainers"]
    assert result["testAccuracy"] >= LEAST_ACCURACY, result["testAccuracy"]


def running(namespace):
    """Returns the running trainers, or None while an incarnation replaces another."""
    pods = namespace.pods("cora", "trainer").values()
    if any("deletionTimestamp" in pod["metadata"] or pod["status"]["phase"] != "Running" for pod in pods):
        return None
    return len(pods)
