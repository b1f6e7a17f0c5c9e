"""A job is deleted in every phase, also while no operator runs: nothing stays, nothing gets stuck."""

import pathlib

LEVEL = "ci"
SECONDS = 300
MANIFEST = pathlib.Path(__file__).with_name("job.yaml")


def story(world):
    namespace = world.namespace
    for phase in ("Partitioning", "Starting", "Training", "Suspended", "Succeeded"):
        namespace.apply(MANIFEST)
        if phase == "Suspended":
            namespace.wait_for_phase("cora", "Training", 60)
            namespace.patch("cora", {"spec": {"runPolicy": {"suspend": True}}})
        namespace.wait_for_phase("cora", phase, 90, never=("Failed", "Succeeded"))
        namespace.delete_job("cora", 60)
        world.note(f"deleted while {phase}")

    namespace.apply(MANIFEST)
    namespace.wait_for_phase("cora", "Training", 60)
    with world.chart.without_operator():
        namespace.delete_job("cora", 60)
    world.note("deleted without an operator")
