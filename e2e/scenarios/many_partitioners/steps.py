"""Three partitioners cut a graph together and one is killed: partitions and numbers are those of one process."""

import json
import pathlib
import re
import tempfile

from runner import here

LEVEL = "full"
SECONDS = 720
NEEDS_OWN_CLUSTER = True  # no API kills a process
MANIFEST = pathlib.Path(__file__).with_name("job.yaml")
PARTITIONERS = 3
# The name of the marker of a partitioner that has validated its share of the graph, with its rank.
VALIDATED = re.compile(r"/markers/rank-(\d+)/valid$")
# Fields of a manifest that describe how the partitions were made, not their content.
OF_THE_MAKING = ("attempt", "partition_seconds", "peak_memory_bytes")


def run_steps(world):
    namespace = world.namespace
    with tempfile.TemporaryDirectory(prefix="espalier-e2e-partitioners-") as temporary:
        folder = pathlib.Path(temporary)
        here.generate(folder / "graph", "--nodes", "20000", "--edges", "200000", "--features", "16", "--classes", "10",
                      "--train", "0.2", "--seed", "5")
        world.bucket.upload_folder(folder / "graph", f"{namespace.name}/graph")
        # Only two fit into the quota. They work as far as possible without the third and wait for it. One is killed then.
        namespace.set_quota(pods=PARTITIONERS - 1)
        namespace.apply(MANIFEST, graph=world.bucket.uri(f"{namespace.name}/graph"))
        of_one_process = here.train(MANIFEST, folder, "partitioner.replicas=1", graph=folder / "graph")  # at the same time
        made_by_one = json.loads(next(folder.glob("run/partitions/*/manifest.json")).read_text())

    ranks = namespace.wait_for("two partitioners that wait for the third", 150, lambda: waiting(world))
    kill_partitioner(namespace, max(ranks))
    world.note(f"killed: partitioner {max(ranks)}")
    # All partitioners restart.
    namespace.wait_for("the next attempt", 90, lambda: namespace.job("cut")["status"]["attempts"]["partition"] == 2)
    assert not manifests(world), manifests(world)
    namespace.set_quota(pods=20)

    job = namespace.wait_for_phase("cut", "Succeeded", 300)
    world.note(f"attempts {job['status']['attempts']}")
    assert len(namespace.pods("cut", "partitioner")) == PARTITIONERS, sorted(namespace.pods("cut", "partitioner"))
    made_by_three = world.bucket.json(manifests(world)[0])
    assert made_by_three["attempt"].endswith(f"-2-of-{PARTITIONERS}"), made_by_three["attempt"]
    assert what_was_made(made_by_three) == what_was_made(made_by_one), (made_by_three, made_by_one)
    world.bucket.verify(f"{namespace.name}/partitions/{job['status']['partition']['hash']}")
    left = [key for key in keys(world) if f"-1-of-{PARTITIONERS}/" in key or "/group/" in key or "/exchange/" in key]
    assert not left, left

    on_the_cluster = namespace.result("cut")
    for field in ("parametersDigest", "testAccuracy", "lossPerEpoch"):
        assert on_the_cluster[field] == of_one_process[field], (field, on_the_cluster[field], of_one_process[field])


def keys(world):
    return world.bucket.keys(f"{world.namespace.name}/partitions/")


def manifests(world):
    return [key for key in keys(world) if key.endswith("/manifest.json")]


def waiting(world):
    """Returns the ranks that have validated their shares, once these are all that fit into the quota; else None."""
    ranks = [int(found.group(1)) for found in map(VALIDATED.search, keys(world)) if found]
    return ranks if len(ranks) == PARTITIONERS - 1 else None


def kill_partitioner(namespace, rank):
    name, = [name for name in namespace.pods("cut", "partitioner") if name.startswith(f"cut-partition-1-{rank}-")]
    namespace.kill(name)


def what_was_made(manifest):
    """Returns a manifest without fields and folder names that depend on how it was made."""
    made = {name: value for name, value in manifest.items() if name not in OF_THE_MAKING}
    made["partitions"] = [{kind: {**file, "key": file["key"].partition("/")[2]} for kind, file in partition.items()}
                          for partition in manifest["partitions"]]
    return made
