"""A graph server with a program's learnable rows is killed: the program restores its last save; the numbers of one machine."""

import pathlib
import tempfile

from runner import here
from runner.programs import said_by_rank_zero

LEVEL = "full"
SECONDS = 600
NEEDS_NUMPY = True
NEEDS_OWN_CLUSTER = True  # no API kills a process
MANIFEST = pathlib.Path(__file__).with_name("job.yaml")
PROGRAM = "espalier_example_link_embeddings"
NEEDS_PROGRAMS = [PROGRAM]
EPOCHS = "40"  # of seventy steps, with a save after each


def run_steps(world):
    namespace = world.namespace
    with tempfile.TemporaryDirectory(prefix="espalier-e2e-rows-") as temporary:
        folder = pathlib.Path(temporary)
        here.links_of_cora(folder / "graph")
        world.bucket.upload_folder(folder / "graph", f"{namespace.name}/graph")
        on_one_machine = here.train(MANIFEST, folder, f"trainers.program.command=[{here.beside(PROGRAM)}]",
                                    graph=folder / "graph", epochs=EPOCHS)

    namespace.apply(MANIFEST, graph=world.bucket.uri(f"{namespace.name}/graph"), epochs=EPOCHS)
    namespace.wait_for("the program's first save", 180, lambda: saves(namespace))
    first = saves(namespace)
    namespace.replace("mine", "server", "mine-server-0-1")
    world.note(f"killed: the server of partition 1, after {len(first)} saves")
    job = namespace.wait_for_phase("mine", "Succeeded", 300)

    assert job["status"]["incarnation"] == 2, job["status"]
    result = said_by_rank_zero(namespace, "mine", 2, "losses")
    world.note(f"rows {result['rowsDigest']}, {result['endsCounted']} ends counted")
    for field in ("rowsDigest", "endsCounted", "losses"):
        assert result[field] == on_one_machine[field], (field, result[field], on_one_machine[field])
    # Each save has its own files: after a start from the beginning, the first files would differ.
    now = saves(namespace)
    assert len(now) == int(EPOCHS) and first.items() <= now.items(), (first, now)


def saves(namespace):
    """Returns the manifests of the program's saves: {key: manifest}."""
    keys = namespace.bucket.keys(f"{namespace.run_prefix('mine')}/link-embeddings/")
    return {key: namespace.bucket.json(key) for key in keys if key.endswith("/manifest.json")}
