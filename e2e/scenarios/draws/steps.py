"""Edge classification with LABOR, and edges up to a seed's time, both with samplers: the numbers of one machine."""

import pathlib
import tempfile

from runner import here

LEVEL = "full"
SECONDS = 480
NEEDS_NUMPY = True
JOBS = ("ratings", "timed")
LEAST_ACCURACY_OF_CLASSES = 0.7  # as on one machine (services/tests/scenarios/launch_tasks.py); the largest class alone: 0.4


def run_steps(world):
    namespace = world.namespace
    on_one_machine = {}
    with tempfile.TemporaryDirectory(prefix="espalier-e2e-draws-") as temporary:
        for job in JOBS:
            graph = pathlib.Path(temporary) / job / "graph"
            graph.parent.mkdir()
            here.graph_of_scenarios(job, graph)
            world.bucket.upload_folder(graph, f"{namespace.name}/{job}")
            namespace.apply(manifest(job), graph=world.bucket.uri(f"{namespace.name}/{job}"), samplers="1")
        for job in JOBS:  # at the same time
            graph = pathlib.Path(temporary) / job / "graph"
            on_one_machine[job] = here.train(manifest(job), graph.parent, graph=graph, samplers="0")

    for job in JOBS:
        namespace.wait_for_phase(job, "Succeeded", 240)
        on_the_cluster = namespace.result(job)
        world.note(f"{job}: accuracy {on_the_cluster['testAccuracy']:.3f}, digest {on_the_cluster['parametersDigest']}")
        world.expect_as_here(on_the_cluster, on_one_machine[job], same=("parametersDigest", "lossPerEpoch"),
                             near="testAccuracy")
        world.bucket.verify(namespace.run_prefix(job))
    accuracy = namespace.result("ratings")["testAccuracy"]
    assert accuracy >= LEAST_ACCURACY_OF_CLASSES, accuracy


def manifest(job):
    return pathlib.Path(__file__).with_name(f"{job}.yaml")
