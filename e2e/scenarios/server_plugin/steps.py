"""Plugins in the graph servers answer a program and initialize learnable rows, as on one machine; a missing one is named."""

import json
import pathlib
import tempfile

from runner import here
from runner.commands import Failure

LEVEL = "full"
SECONDS = 480
MANIFEST = pathlib.Path(__file__).with_name("job.yaml")
ROWS_MANIFEST = MANIFEST.with_name("rows.yaml")
PLUGIN, PROGRAM = "espalier_example_degrees.so", "espalier_example_ask_degrees"
ROWS_PLUGIN = "espalier_example_rows.so"
NEEDS_PROGRAMS = [PLUGIN, PROGRAM, ROWS_PLUGIN]
FOLDER = "/usr/lib/espalier"  # of plugins in the image
ANSWERS = ("nodesByInDegree", "largest")
BAD_INPUT = 65


def run_steps(world):
    namespace = world.namespace
    with tempfile.TemporaryDirectory(prefix="espalier-e2e-plugin-") as temporary:
        folder = pathlib.Path(temporary)
        here.generate(folder / "graph", "--nodes", "6000", "--edges", "60000", "--features", "4", "--seed", "7")
        world.bucket.upload_folder(folder / "graph", f"{namespace.name}/graph")
        apply(world, MANIFEST, "ask", PLUGIN)
        apply(world, ROWS_MANIFEST, "rows", ROWS_PLUGIN)
        # At the same time, with one server, which has the whole graph.
        on_one_machine = here.train(
            MANIFEST, folder, "graph.partitions.count=1", f"trainers.program.command=[{here.beside(PROGRAM)}]",
            name="ask", graph=folder / "graph", plugin=here.beside(PLUGIN))
        (folder / "rows").mkdir()
        rows_of_one_machine = here.train(ROWS_MANIFEST, folder / "rows", "graph.partitions.count=1", name="rows",
                                         graph=folder / "graph", plugin=here.beside(ROWS_PLUGIN))

    namespace.wait_for_phase("ask", "Succeeded", 180)
    on_the_cluster = answers(namespace)
    world.note(f"the largest: {on_the_cluster['largest'][0]}")
    assert len(on_one_machine["nodesByInDegree"]) > 1 and len(on_one_machine["largest"]) == 5, on_one_machine
    for field in ANSWERS:
        assert on_the_cluster[field] == on_one_machine[field], (field, on_the_cluster[field], on_one_machine[field])

    namespace.wait_for_phase("rows", "Succeeded", 180)
    rows = namespace.result("rows")
    assert len(rows["learnableRowsDigest"]) > 0, rows
    world.expect_as_here(rows, rows_of_one_machine, same=("learnableRowsDigest", "parametersDigest"), near="testAccuracy")

    apply(world, MANIFEST, "wrong", "there-is-none.so")
    job = namespace.wait_for_phase("wrong", "Failed", 120, never=("Succeeded",))
    error = job["status"]["lastError"]
    assert error["role"] == "server" and error["exitCode"] == BAD_INPUT, error
    assert f"{FOLDER}/there-is-none.so" in error["message"], error


def apply(world, manifest, name, plugin):
    world.namespace.apply(manifest, name=name, plugin=f"{FOLDER}/{plugin}", image=world.chart.trainer_image(),
                          graph=world.bucket.uri(f"{world.namespace.name}/graph"))


def answers(namespace):
    """Returns the output of the program."""
    for name in namespace.pods("ask", "trainer"):
        lines = [line for line in namespace.kubectl("logs", name).splitlines() if line.startswith('{"nodesByInDegree"')]
        if lines:
            return json.loads(lines[-1])
    raise Failure("the program logged no results")
