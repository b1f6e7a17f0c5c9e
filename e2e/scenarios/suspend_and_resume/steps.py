"""A job is suspended during training and leaves no pod; after it is resumed, it ends with the same parameters."""

from runner.world import CORA

LEVEL = "full"
SECONDS = 600


def run_steps(world):
    world.train_undisturbed()
    namespace = world.namespace
    namespace.apply(CORA)
    namespace.wait_for_checkpoint("cora", 120)

    namespace.patch("cora", {"spec": {"runPolicy": {"suspend": True}}})
    job = namespace.wait_for_phase("cora", "Suspended", 90)
    running = [name for name, pod in namespace.pods("cora").items() if pod["status"]["phase"] in ("Pending", "Running")]
    assert not running, running
    # Trainers wrote a checkpoint after the stop request, which does not count as a failed attempt.
    assert job["status"]["attempts"]["counted"] == 0, job["status"]["attempts"]

    namespace.patch("cora", {"spec": {"runPolicy": {"suspend": False}}})
    job = namespace.wait_for_phase("cora", "Succeeded", 300)
    assert job["status"]["incarnation"] == 2, job["status"]
    assert job["status"]["attempts"]["counted"] == 0, job["status"]["attempts"]
    world.expect_as_undisturbed("cora")
