"""A node fails in the middle of training and stays away: the job ends on the others, with the same parameters."""

from runner.world import CORA

LEVEL = "full"
SECONDS = 720
NEEDS_OWN_CLUSTER = True  # no API switches a machine off


def run_steps(world):
    world.train_undisturbed()
    namespace = world.namespace
    namespace.apply(CORA)
    namespace.wait_for_checkpoint("cora", 120)

    node = world.node_of_a("trainer")
    with world.machines.failed(node):
        # 20 s until the node is NotReady, 30 s of toleration, 30 s until its pods are deleted by force.
        namespace.wait_for_pods_elsewhere("cora", "trainer", 2, node, 150)
        job = namespace.wait_for_phase("cora", "Succeeded", 300)

    assert job["status"]["incarnation"] >= 2, job["status"]
    # The other trainer loses its peer and reports only that (74), long before the loss of the node is detected.
    assert job["status"]["attempts"]["counted"] == 0, job["status"]["attempts"]
    world.expect_as_undisturbed("cora")
