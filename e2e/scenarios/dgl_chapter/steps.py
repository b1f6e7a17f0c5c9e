"""DGL's chapter-7 example with its import lines changed, in the image with PyTorch, on one partition and on four."""

import pathlib
import tempfile

from runner import here, scripts
from runner.programs import said_by_rank_zero

LEVEL = "full"
SECONDS = 900  # most of it to put the image on the nodes
NEEDS_OWN_CLUSTER = True  # no API puts an image on a node
NEEDS_IMAGES = ["python-torch"]
NEEDS_GRAPH = "dgl-chapter-7"
MANIFEST = pathlib.Path(__file__).with_name("job.yaml")
RUNNER = here.SOURCE / "python/tests/pinned/chapter.py"
LEAST_ACCURACY = 0.77  # python/tests/pinned/test_dgl_scripts.py


def run_steps(world):
    namespace = world.namespace
    image = world.chart.put_on_nodes(*NEEDS_IMAGES, world.machines)
    world.note("the image with PyTorch is on the nodes")
    chapter = here.test_data(NEEDS_GRAPH) / "node_classification.py"
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        (folder / "chapter.zip").write_bytes(scripts.archive(RUNNER, chapter))
        world.bucket.upload_folder(folder, f"{namespace.name}/code")
    said = {}
    for partitions in ("1", "4"):
        name = f"chapter-{partitions}"
        namespace.apply(MANIFEST, name=name, partitions=partitions, image=image,
                        script=world.bucket.uri(f"{namespace.name}/code/chapter.zip"))
        job = namespace.wait_for_phase(name, "Succeeded", 300)
        said[partitions] = said_by_rank_zero(namespace, name, job["status"]["incarnation"], "ranks")
        world.note(f"{partitions} partitions: accuracy {said[partitions]['testAccuracy']:.3f} on test nodes")
    assert said["4"] == {**said["1"], "partitions": 4}, said
    assert said["1"]["ranks"] == 2 and said["1"]["testAccuracy"] >= LEAST_ACCURACY, said
