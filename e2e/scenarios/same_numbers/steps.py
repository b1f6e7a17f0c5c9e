"""One job as pods, as processes of one pod, and as processes of this machine: the same parameters in every bit."""

import json
import os
import pathlib
import tempfile

from runner import run_in_image
from runner.commands import run
from runner.command_line import SOURCE

LEVEL = "ci"
SECONDS = 360
NEEDS_OWN_CLUSTER = True  # results are equal in every bit only on one kind of processor
MANIFEST = pathlib.Path(__file__).with_name("job.yaml")


def run_steps(world):
    namespace = world.namespace
    namespace.apply(MANIFEST)
    on_one_machine = trained_here()
    namespace.wait_for_phase("cora", "Succeeded", 120)
    on_the_cluster = namespace.result("cora")
    world.note(f"accuracy {on_the_cluster['testAccuracy']:.3f}, digest {on_the_cluster['parametersDigest']}")
    run_in_image.begin(namespace, "alone", MANIFEST)
    in_one_pod = run_in_image.result(namespace, "alone", 120)
    world.note("`espalier run` in the trainer image has ended")
    for field in ("parametersDigest", "testAccuracy", "lossPerEpoch"):
        for where, other in (("this machine", on_one_machine), ("one pod", in_one_pod)):
            assert on_the_cluster[field] == other[field], (field, where, on_the_cluster[field], other[field])


def trained_here():
    """Returns the result.json of `espalier run` with the same document, as in the README."""
    with tempfile.TemporaryDirectory(prefix="espalier-e2e-local-") as folder:
        run([os.environ["ESPALIER_E2E_CLI"], "run", "-f", SOURCE / "services/examples/cora.yaml", "--set",
             f"graph.source.uri={SOURCE / 'services/examples/cora'}", "--set", "trainers.replicas=1",
             "--output", f"{folder}/cora"], timeout=120)
        return json.loads((pathlib.Path(folder) / "cora/result.json").read_text())
