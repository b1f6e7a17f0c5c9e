"""A node fails during training and is back before its pods are given up: the same parameters."""

from runner.world import CORA

LEVEL = "full"
SECONDS = 600
NEEDS_OWN_CLUSTER = True  # no API switches a machine off


def run_steps(world):
    world.train_undisturbed()
    namespace = world.namespace
    namespace.apply(CORA)
    namespace.wait_for_checkpoint("cora", 120)

    node = world.node_of_a("trainer")
    servers = namespace.uids("cora", "server")
    with world.machines.failed(node):
        pass
    namespace.wait_for("trainers of the next incarnation", 180, lambda: has_resumed(namespace.job("cora")["status"]))
    assert namespace.uids("cora", "server") == servers, "the node was given up: its servers were replaced"

    job = namespace.wait_for_phase("cora", "Succeeded", 300)
    world.note(f"ended as incarnation {job['status']['incarnation']}, attempts {job['status']['attempts']}")
    assert job["status"]["incarnation"] >= 2, job["status"]
    assert job["status"]["attempts"]["counted"] == 0, job["status"]["attempts"]
    world.expect_as_undisturbed("cora")


def has_resumed(status):
    return status["incarnation"] >= 2 and status["phase"] == "Training"
