"""A node is cut off and its trainer runs on, first for moments, then until it is given up: the same parameters."""

import time

from runner.world import CORA

LEVEL = "full"
SECONDS = 720
NEEDS_OWN_CLUSTER = True  # no API pulls a cable
MOMENTS = 5.0  # shorter than anybody's patience


def story(world):
    undisturbed = world.undisturbed_models()
    namespace = world.namespace
    namespace.apply(CORA)
    namespace.wait_for_checkpoint("cora", 120)

    node = world.node_of_a("trainer")
    with world.machines.cut_off(node):
        time.sleep(MOMENTS)
    namespace.wait_until_it_trains("cora", 120)
    assert namespace.job("cora")["status"]["incarnation"] == 1, namespace.job("cora")["status"]

    # The trainer there knows nothing of the incarnation that replaces its own; when the cable is back, it meets it.
    with world.machines.cut_off(node):
        namespace.wait_for_pods_elsewhere("cora", "trainer", 2, node, 150)

    job = namespace.wait_for_phase("cora", "Succeeded", 300)
    assert job["status"]["incarnation"] >= 2, job["status"]
    assert job["status"]["attempts"]["counted"] == 0, job["status"]["attempts"]
    assert namespace.models("cora") == undisturbed, namespace.models("cora")
