"""Two jobs train at the same time from the same partitions; one is deleted, and the other ends with the usual parameters."""

from runner.world import CORA, ENDLESS

LEVEL = "full"
SECONDS = 720
JOBS = ("left", "right")


def run_steps(world):
    world.train_undisturbed()
    namespace = world.namespace
    namespace.apply(CORA, name="left", epochs=ENDLESS)
    namespace.apply(CORA, name="right")
    for name in JOBS:
        namespace.wait_for_phase(name, "Training", 240)
    for name in JOBS:
        namespace.wait_until_it_trains(name, 120)
    beside = {name: namespace.job(name)["status"] for name in JOBS}
    assert all(status["phase"] == "Training" and status["incarnation"] == 1 for status in beside.values()), beside
    # Partitions are stored under a key of their inputs, so both jobs use the same partitioning. It is complete, although the
    # slower job has removed its own files.
    left, right = (status["partition"]["hash"] for status in beside.values())
    assert left == right, beside
    place = f"{namespace.name}/partitions"
    standing = [key for key in world.bucket.keys(f"{place}/") if key.endswith("/manifest.json")]
    assert standing == [f"{place}/{left}/manifest.json"], standing
    world.bucket.verify(f"{place}/{left}")

    before = uids(namespace, "right")
    namespace.delete_job("left", 60)
    world.note("left is deleted, while both train")
    namespace.wait_until_it_trains("right", 120)
    assert uids(namespace, "right") == before, (uids(namespace, "right"), before)

    job = namespace.wait_for_phase("right", "Succeeded", 300)
    assert job["status"]["incarnation"] == 1, job["status"]
    assert job["status"]["attempts"]["counted"] == 0, job["status"]["attempts"]
    world.expect_as_undisturbed("right")


def uids(namespace, job):
    return {item["metadata"]["uid"] for item in namespace.objects("pods,jobs,configmaps,secrets,services", job)}
