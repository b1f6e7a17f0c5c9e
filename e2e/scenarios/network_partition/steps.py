"""Two nodes cannot reach each other; then one is disconnected, briefly and until its pods are deleted: same parameters."""

import time

from runner.world import CORA

LEVEL = "full"
SECONDS = 780
NEEDS_OWN_CLUSTER = True  # no API disconnects a node
MOMENTS = 5.0  # shorter than all timeouts
A_WHILE = 45.0  # longer than a connection lives without responses, and shorter than the rendezvous of trainers may take


def run_steps(world):
    world.train_undisturbed()
    namespace = world.namespace
    namespace.apply(CORA)
    namespace.wait_for_checkpoint("cora", 120)

    # The cluster does not detect it, and the trainers lose each other. The next ones connect when the nodes are joined.
    servers = namespace.uids("cora", "server")
    nodes = sorted({pod["spec"]["nodeName"] for pod in namespace.pods("cora", "trainer").values()})
    assert len(nodes) == 2, nodes
    with world.machines.cut_between(nodes):
        time.sleep(A_WHILE)
    namespace.wait_until_it_trains("cora", 120)
    status = namespace.job("cora")["status"]
    assert status["incarnation"] == 2 and status["attempts"]["counted"] == 1, status
    assert namespace.uids("cora", "server") == servers, (servers, namespace.uids("cora", "server"))

    node = world.node_of_a("trainer")
    with world.machines.cut_off(node):
        time.sleep(MOMENTS)
    namespace.wait_until_it_trains("cora", 120)
    assert namespace.job("cora")["status"]["incarnation"] == 2, namespace.job("cora")["status"]

    # The trainer on that node does not learn of the next incarnation until the node is joined again.
    with world.machines.cut_off(node):
        namespace.wait_for_pods_elsewhere("cora", "trainer", 2, node, 150)

    job = namespace.wait_for_phase("cora", "Succeeded", 300)
    assert job["status"]["incarnation"] >= 3, job["status"]
    assert job["status"]["attempts"]["counted"] == 1, job["status"]["attempts"]
    world.expect_as_undisturbed("cora")
