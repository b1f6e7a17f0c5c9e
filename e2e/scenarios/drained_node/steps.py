"""A node is drained during training: its pods are evicted, and training resumes on another node from a checkpoint."""

from runner.machines import drained
from runner.world import CORA

LEVEL = "full"
SECONDS = 600
NEEDS_OWN_CLUSTER = True  # nodes of another cluster may have other pods


def run_steps(world):
    world.train_undisturbed()
    namespace = world.namespace
    namespace.apply(CORA)
    namespace.wait_for_checkpoint("cora", 120)

    node = world.node_of_a("trainer")
    with drained(node):
        world.note(f"{node} is drained")
        job = namespace.wait_for_phase("cora", "Succeeded", 300)

    assert job["status"]["incarnation"] >= 2, job["status"]
    assert job["status"]["attempts"]["counted"] == 0, job["status"]["attempts"]
    world.expect_as_undisturbed("cora")
