"""Graph servers with learnable rows are killed: all return to a checkpoint; rows and parameters as in an undisturbed run."""

import pathlib

LEVEL = "full"
SECONDS = 900
NEEDS_OWN_CLUSTER = True  # no API kills a process
MANIFEST = pathlib.Path(__file__).with_name("job.yaml")
DIGESTS = ("learnableRowsDigest", "parametersDigest")


def run_steps(world):
    namespace = world.namespace
    # At the same time: each leaves processors idle while it waits.
    for name in ("calm", "shaken"):
        namespace.apply(MANIFEST, name=name)
    namespace.wait_for_checkpoint("shaken", 180)
    for partition in (0, 1):
        before = namespace.job("shaken")["status"]["incarnation"]
        namespace.replace("shaken", "server", f"shaken-server-0-{partition}")
        # The rows of the server are lost, and those of the others are newer than the checkpoint: no trainer may continue.
        namespace.wait_for("a new incarnation", 120,
                           lambda: namespace.job("shaken")["status"]["incarnation"] > before)
        world.note(f"killed: the server of partition {partition}")
        namespace.wait_until_it_trains("shaken", 180)

    job = namespace.wait_for_phase("shaken", "Succeeded", 300)
    world.note(f"ended as incarnation {job['status']['incarnation']}")
    # Pods were replaced, as in a drain.
    assert job["status"]["attempts"]["counted"] == 0, job["status"]["attempts"]
    namespace.wait_for_phase("calm", "Succeeded", 300)
    shaken, undisturbed = namespace.result("shaken"), namespace.result("calm")
    for digest in DIGESTS:
        assert len(undisturbed[digest]) > 0, digest
        assert shaken[digest] == undisturbed[digest], (digest, shaken[digest], undisturbed[digest])
