"""A program asks a plugin in the graph servers: the answers are those of one machine; a plugin that is missing is named."""

import json
import pathlib
import tempfile

from runner import here
from runner.commands import Failure

LEVEL = "full"
SECONDS = 480
MANIFEST = pathlib.Path(__file__).with_name("job.yaml")
PLUGIN, PROGRAM = "espalier_example_degrees.so", "espalier_example_ask_degrees"
NEEDS_PROGRAMS = [PLUGIN, PROGRAM]
FOLDER = "/usr/lib/espalier"  # of plugins in the image
ANSWERS = ("nodesByInDegree", "largest")
BAD_INPUT = 65


def story(world):
    namespace = world.namespace
    with tempfile.TemporaryDirectory(prefix="espalier-e2e-plugin-") as temporary:
        folder = pathlib.Path(temporary)
        here.generate(folder / "graph", "--nodes", "6000", "--edges", "60000", "--features", "4", "--seed", "7")
        world.bucket.upload_folder(folder / "graph", f"{namespace.name}/graph")
        ask(world, "ask", f"{FOLDER}/{PLUGIN}")
        # Beside it, by one server, which sees all of the graph.
        on_one_machine = here.train(
            MANIFEST, folder, "graph.partitions.count=1", f"trainers.program.command=[{here.beside(PROGRAM)}]",
            name="ask", graph=folder / "graph", plugin=here.beside(PLUGIN))

    namespace.wait_for_phase("ask", "Succeeded", 180)
    on_the_cluster = answers(namespace)
    world.note(f"the largest: {on_the_cluster['largest'][0]}")
    assert len(on_one_machine["nodesByInDegree"]) > 1 and len(on_one_machine["largest"]) == 5, on_one_machine
    for field in ANSWERS:
        assert on_the_cluster[field] == on_one_machine[field], (field, on_the_cluster[field], on_one_machine[field])

    ask(world, "wrong", f"{FOLDER}/there-is-none.so")
    job = namespace.wait_for_phase("wrong", "Failed", 120, never=("Succeeded",))
    error = job["status"]["lastError"]
    assert error["role"] == "server" and error["exitCode"] == BAD_INPUT, error
    assert f"{FOLDER}/there-is-none.so" in error["message"], error


def ask(world, name, plugin):
    world.namespace.apply(MANIFEST, name=name, plugin=plugin, image=world.chart.trainer_image(),
                          graph=world.bucket.uri(f"{world.namespace.name}/graph"))


def answers(namespace):
    """What the program printed."""
    for name in namespace.pods("ask", "trainer"):
        lines = [line for line in namespace.kubectl("logs", name).splitlines() if line.startswith('{"nodesByInDegree"')]
        if lines:
            return json.loads(lines[-1])
    raise Failure("the program has left no answers in its log")
