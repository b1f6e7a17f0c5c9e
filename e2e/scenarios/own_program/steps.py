"""A program in a user's image replaces the trainer: a rank and a server are killed, the numbers are those of one machine."""

import pathlib
import tempfile

from runner import here, own_image
from runner.programs import said_by_rank_zero

LEVEL = "full"
SECONDS = 600
NEEDS_OWN_CLUSTER = True  # no API kills a process, or puts an image on a node
MANIFEST = pathlib.Path(__file__).with_name("job.yaml")
PROGRAM = "espalier_example_training_loop"
NEEDS_PROGRAMS = [PROGRAM]
IMAGE = "localhost/mine:1"
EPOCHS = "600"  # of twelve steps: time for two pods to be killed


def run_steps(world):
    namespace = world.namespace
    own_image.make(here.beside(PROGRAM), IMAGE, world.machines)
    with tempfile.TemporaryDirectory(prefix="espalier-e2e-program-") as temporary:
        folder = pathlib.Path(temporary)
        here.generate(folder / "graph", "--nodes", "6000", "--edges", "60000", "--features", "16", "--classes", "10",
                      "--train", "0.5", "--seed", "3")
        world.bucket.upload_folder(folder / "graph", f"{namespace.name}/graph")
        on_one_machine = here.train(MANIFEST, folder, f"trainers.program.command=[{here.beside(PROGRAM)}]",
                                    graph=folder / "graph", epochs=EPOCHS)

    namespace.apply(MANIFEST, graph=world.bucket.uri(f"{namespace.name}/graph"), epochs=EPOCHS, image=IMAGE)
    for role in ("server", "trainer"):
        namespace.wait_for_phase("mine", "Training", 180)
        running = [name for name, pod in namespace.pods("mine", role).items() if pod["status"]["phase"] == "Running"]
        namespace.replace("mine", role, min(running))
        world.note(f"killed: {role}")
    namespace.wait_for("a new incarnation", 60, lambda: namespace.job("mine")["status"]["incarnation"] > 1)
    job = namespace.wait_for_phase("mine", "Succeeded", 300)

    on_the_cluster = said_by_rank_zero(namespace, "mine", job["status"]["incarnation"], "lastLoss")
    world.note(f"incarnation {job['status']['incarnation']}, weights {on_the_cluster['weightsDigest']}")
    for field in ("weightsDigest", "testAccuracy", "lastLoss"):
        assert on_the_cluster[field] == on_one_machine[field], (field, on_the_cluster[field], on_one_machine[field])
    # The termination message sets the job's progress, because the operator does not poll programs.
    namespace.wait_for("the program's last words", 30, lambda: namespace.job("mine")["status"].get("progress"))
    progress = namespace.job("mine")["status"]["progress"]
    assert progress["epoch"] == int(EPOCHS), progress
    assert abs(progress["metrics"]["testAccuracy"] - on_one_machine["testAccuracy"]) < 1e-4, progress
