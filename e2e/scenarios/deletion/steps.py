"""A job is deleted in every phase, also while no operator runs: nothing stays, nothing gets stuck."""

from runner.world import CORA

LEVEL = "ci"
SECONDS = 300


def story(world):
    namespace = world.namespace
    for phase in ("Partitioning", "Starting", "Training", "Suspended", "Succeeded"):
        namespace.apply(CORA, epochs="20")
        if phase == "Suspended":
            namespace.wait_for_phase("cora", "Training", 60)
            namespace.patch("cora", {"spec": {"runPolicy": {"suspend": True}}})
        namespace.wait_for_phase("cora", phase, 90, never=("Failed", "Succeeded"))
        namespace.delete_job("cora", 60)
        world.note(f"deleted while {phase}")

    namespace.apply(CORA, epochs="20")
    namespace.wait_for_phase("cora", "Training", 60)
    with world.chart.without_operator():
        namespace.delete_job("cora", 60)
    world.note("deleted without an operator")
