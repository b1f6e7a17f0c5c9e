"""The store is unavailable for a minute of training: the job continues, with the losses of an undisturbed run."""

import time

from runner.world import CORA

LEVEL = "full"
SECONDS = 600
NEEDS_OWN_CLUSTER = True  # other users use the store of another cluster
OUTAGE = 60.0
# More epochs than the run without faults, so that training outlasts the outage: outputs at its end need the store.
EPOCHS = "600"


def run_steps(world):
    undisturbed = world.undisturbed_losses()
    namespace = world.namespace
    namespace.apply(CORA, epochs=EPOCHS)
    namespace.wait_for_checkpoint("cora", 120)

    with world.machines.without_store():
        time.sleep(OUTAGE)
        job = namespace.job("cora")
        assert job["status"]["phase"] not in ("Failed", "Succeeded"), job["status"]

    job = namespace.wait_for_phase("cora", "Succeeded", 300)
    world.note(f"ended as incarnation {job['status']['incarnation']}, attempts {job['status']['attempts']}")
    losses = namespace.result("cora")["lossPerEpoch"]
    # Other parameters would have other losses. Compares the losses of the epochs that both runs have.
    assert len(undisturbed) < len(losses) == int(EPOCHS), (len(undisturbed), len(losses))
    differences = [epoch for epoch, loss in enumerate(undisturbed) if losses[epoch] != loss]
    assert not differences, f"other losses from epoch {differences[0]} on"
