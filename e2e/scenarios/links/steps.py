"""Link prediction on Cora, batches of edges drawn by a sampler: the numbers of one machine, which finds citations."""

import pathlib
import tempfile

from runner import here

LEVEL = "full"
SECONDS = 420
NEEDS_NUMPY = True
MANIFEST = pathlib.Path(__file__).with_name("job.yaml")
LEAST_MRR = 0.05  # as on one machine (services/tests/scenarios/link_prediction.py); chance is 0.003


def run_steps(world):
    namespace = world.namespace
    with tempfile.TemporaryDirectory(prefix="espalier-e2e-links-") as temporary:
        folder = pathlib.Path(temporary)
        here.links_of_cora(folder / "graph")
        world.bucket.upload_folder(folder / "graph", f"{namespace.name}/graph")
        namespace.apply(MANIFEST, graph=world.bucket.uri(f"{namespace.name}/graph"), samplers="1")
        on_one_machine = here.train(MANIFEST, folder, graph=folder / "graph", samplers="0")  # at the same time

    namespace.wait_for_phase("links", "Succeeded", 240)
    on_the_cluster = namespace.result("links")
    world.note(f"MRR {on_the_cluster['testMrr']:.3f} on held-out citations, digest {on_the_cluster['parametersDigest']}")
    assert on_the_cluster["testMrr"] >= LEAST_MRR, on_the_cluster["testMrr"]
    world.expect_as_here(on_the_cluster, on_one_machine, same=("parametersDigest", "lossPerEpoch", "edges"), near="testMrr")
    world.bucket.verify(namespace.run_prefix("links"))
