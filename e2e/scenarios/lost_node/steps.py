"""A node fails in the middle of training and comes back later: the job goes on without it, with the same parameters."""

import pathlib

LEVEL = "full"
SECONDS = 420
NEEDS_OWN_CLUSTER = True  # no API switches a machine off
MANIFEST = pathlib.Path(__file__).with_name("job.yaml")


def story(world):
    undisturbed = world.undisturbed_models(MANIFEST)
    namespace = world.namespace
    namespace.apply(MANIFEST)
    namespace.wait_for_checkpoint("cora", 90)

    node = a_node_with_a_trainer(world)
    with world.failed_node(node):
        # 20 s until it is missed, 30 s that our pods tolerate that, 30 s until its pods are given up.
        namespace.wait_for("trainers elsewhere", 150, lambda: trainers_elsewhere(world, node))

    job = namespace.wait_for_phase("cora", "Succeeded", 120)
    assert job["status"]["incarnation"] >= 2, job["status"]
    # The other trainer loses its peer and can only say that (74), long before anybody misses the node.
    assert job["status"]["attempts"]["counted"] == 0, job["status"]["attempts"]
    assert namespace.models("cora") == undisturbed, namespace.models("cora")


def a_node_with_a_trainer(world):
    """Not the operator's, if there is another: this story is about the job."""
    of_trainers = sorted({pod["spec"]["nodeName"] for pod in world.namespace.pods("cora", "trainer").values()})
    of_operator = world.chart.operator_nodes()
    return next((node for node in of_trainers if node not in of_operator), of_trainers[0])


def trainers_elsewhere(world, node):
    running = [pod for pod in world.namespace.pods("cora", "trainer").values() if pod["status"]["phase"] == "Running"
               and pod["spec"]["nodeName"] != node and "deletionTimestamp" not in pod["metadata"]]
    return len(running) == 2
