"""A job is deleted in every phase, also while no operator runs: nothing stays, nothing gets stuck."""

from runner.world import CORA, ENDLESS

LEVEL = "ci"
SECONDS = 600
NEEDS_OWN_CLUSTER = True  # on another one the operator may be there for others


def story(world):
    namespace = world.namespace
    for phase in ("Partitioning", "Starting", "Training", "Suspended", "Succeeded"):
        namespace.apply(CORA, epochs="20" if phase == "Succeeded" else ENDLESS)
        if phase == "Suspended":
            namespace.wait_for_phase("cora", "Training", 120)
            namespace.patch("cora", {"spec": {"runPolicy": {"suspend": True}}})
        namespace.wait_for_phase("cora", phase, 120, never=("Failed", "Succeeded"))
        namespace.delete_job("cora", 60)
        world.note(f"deleted while {phase}")

    namespace.apply(CORA, epochs=ENDLESS)
    namespace.wait_for_phase("cora", "Training", 120)
    with world.chart.without_operator():
        namespace.delete_job("cora", 60)
    world.note("deleted without an operator")
