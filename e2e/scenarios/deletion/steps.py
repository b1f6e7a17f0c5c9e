"""Jobs are deleted in every phase, and in three of them while no operator runs: no object remains."""

import contextlib
import json

from runner.commands import attempt
from runner.namespace import TOO_LITTLE_MEMORY
from runner.world import CORA, ENDLESS

LEVEL = "ci"
SECONDS = 780
# Short phases, and the settings with which a job reaches them. The jobs run one after the other; each is deleted as soon as
# it is in its phase.
PASSING = {"Partitioning": {}, "Starting": {}, "Restarting": TOO_LITTLE_MEMORY}
ORPHANS = ("Training", "Suspended")  # and Partitioning: deleted without an operator


def run_steps(world):
    namespace = world.namespace
    for phase, values in PASSING.items():
        apply(namespace, phase.lower(), **values)
        namespace.wait_for_phase(phase.lower(), phase, 120, never=("Failed", "Succeeded"))
        namespace.delete_job(phase.lower(), 60)
        world.note(f"deleted while {phase}")

    # Long phases, in jobs that run at the same time. The graph of the first is a path without a mount, that of the last does
    # not exist.
    lasting = {"Pending": {"graph": "/srv/graphs/cora"}, "Training": {}, "Suspended": {}, "Succeeded": {"epochs": "20"},
               "Failed": {"graph": world.bucket.uri("there-is-no-such-graph")}}
    jobs = {phase.lower(): phase for phase in lasting}
    orphans = {f"orphan-{phase.lower()}": phase for phase in ORPHANS}
    for name, phase in {**jobs, **orphans}.items():
        apply(namespace, name, **lasting[phase])
    apply(namespace, "suspending")
    delete_while_suspending(namespace, "suspending")
    for name in [name for name, phase in {**jobs, **orphans}.items() if phase == "Suspended"]:
        namespace.wait_for_phase(name, "Training", 240)
        suspend(namespace, name)
    for name, phase in {**jobs, **orphans}.items():
        namespace.wait_for_phase(name, phase, 240)
    namespace.begin_deletion(*jobs)
    for name in ("suspending", *jobs):
        namespace.wait_until_deleted(name, 90)
    world.note(f"deleted while Suspending, {', '.join(jobs.values())}")

    delete_without_operator(world, orphans)


def apply(namespace, name, **values):
    """Creates a job with one trainer."""
    namespace.apply(CORA, name=name, trainers="1", **{"epochs": ENDLESS, **values})


def suspend(namespace, name):
    namespace.patch(name, {"spec": {"runPolicy": {"suspend": True}}})


def delete_while_suspending(namespace, name):
    """Deletes a job while it waits for the end of one pod that is held."""
    namespace.wait_for_phase(name, "Training", 240)
    with held(namespace, f"{name}-server-0-0"):
        suspend(namespace, name)
        namespace.wait_until_gone(f"the trainer of {name}", 90, lambda: namespace.pods(name, "trainer"))
        namespace.wait_for_phase(name, "Suspending", 30)
        namespace.begin_deletion(name)


@contextlib.contextmanager
def held(namespace, pod):
    """A block in which a finalizer keeps a pod whose deletion was requested."""
    def patch(names):
        return ["patch", "pod", pod, "--type=merge", "--patch", json.dumps({"metadata": {"finalizers": names}})]

    namespace.kubectl(*patch(["e2e.espalier.io/held"]))
    try:
        yield
    finally:
        # Ignores errors if the pod is gone, so that an earlier error is reported.
        attempt(["kubectl", "--namespace", namespace.name, *patch(None)])


def delete_without_operator(world, orphans):
    """Deletes jobs while no operator runs: `orphans` ({name: phase}), and one whose partitioner cannot be scheduled, so that
    it stays in phase Partitioning."""
    namespace = world.namespace
    orphans = {**orphans, "orphan-partitioning": "Partitioning"}
    apply(namespace, "orphan-partitioning", partitioner_nodes="e2e.espalier.io/none: has-it")
    namespace.wait_for_condition("orphan-partitioning", "Partitioned", "False", "Unschedulable", 90)
    with world.chart.without_operator():
        phases = {name: namespace.job(name)["status"]["phase"] for name in orphans}
        assert phases == orphans, phases
        namespace.begin_deletion(*orphans)
        for name in orphans:
            namespace.wait_until_deleted(name, 90)
    world.note(f"deleted without an operator while {', '.join(orphans.values())}")
