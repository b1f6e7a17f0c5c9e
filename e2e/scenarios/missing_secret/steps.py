"""The bucket's Secret is not there: the job says so, and goes on by itself when it is made."""

import pathlib

LEVEL = "ci"
SECONDS = 180
MANIFEST = pathlib.Path(__file__).with_name("job.yaml")


def story(world):
    namespace = world.namespace
    namespace.apply(MANIFEST, secret="made-later")
    namespace.wait_for_condition("cora", "Partitioned", "False", "SecretMissing", 30)
    assert not namespace.pods("cora"), sorted(namespace.pods("cora"))

    namespace.create_bucket_secret("made-later")
    job = namespace.wait_for_phase("cora", "Succeeded", 120)
    assert job["status"]["attempts"]["counted"] == 0, job["status"]["attempts"]
