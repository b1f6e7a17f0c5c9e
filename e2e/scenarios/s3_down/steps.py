"""The store is gone for a minute of training: the job lives through it, with the same parameters."""

import time

from runner.world import CORA

LEVEL = "full"
SECONDS = 600
NEEDS_OWN_CLUSTER = True  # the store of another one serves others too
OUTAGE = 60.0


def story(world):
    undisturbed = world.undisturbed_models()
    namespace = world.namespace
    namespace.apply(CORA)
    namespace.wait_for_checkpoint("cora", 120)

    with world.machines.without_store():
        time.sleep(OUTAGE)
        job = namespace.job("cora")
        assert job["status"]["phase"] not in ("Failed", "Succeeded"), job["status"]

    job = namespace.wait_for_phase("cora", "Succeeded", 300)
    world.note(f"ended as incarnation {job['status']['incarnation']}, attempts {job['status']['attempts']}")
    assert namespace.models("cora") == undisturbed, namespace.models("cora")
