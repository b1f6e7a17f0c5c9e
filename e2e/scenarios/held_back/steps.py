"""Secret, quota, node and image are missing, one after the other: a condition shows it; the fixed job continues."""

import pathlib

LEVEL = "ci"
SECONDS = 300
MANIFEST = pathlib.Path(__file__).with_name("job.yaml")


def run_steps(world):
    namespace = world.namespace
    namespace.set_quota(pods=0)
    namespace.apply(MANIFEST, secret="made-later", node_label="has-none",
                    image="localhost/espalier-trainer:there-is-none")
    namespace.wait_for_condition("cora", "Partitioned", "False", "SecretMissing", 30)
    assert not namespace.objects("jobs", "cora"), "a job was made that cannot run"
    namespace.create_bucket_secret("made-later")

    namespace.wait_for_condition("cora", "Partitioned", "False", "FailedCreate", 60)
    namespace.set_quota(pods=20)

    namespace.wait_for_condition("cora", "ServersReady", "False", "Unschedulable", 90)
    change_while_suspended(namespace, {"servers": {"nodeSelector": None}})

    namespace.wait_for_condition("cora", "TrainersReady", "False", "ImagePullBackOff", 120)
    change_while_suspended(namespace, {"trainers": {"image": world.chart.trainer_image()}})

    job = namespace.wait_for_phase("cora", "Succeeded", 120)
    assert job["status"]["attempts"]["counted"] == 0, job["status"]["attempts"]
    assert job["status"].get("lastError") is None, job["status"]["lastError"]


def change_while_suspended(namespace, changes):
    """Node selectors and images can be changed only while a job is suspended."""
    namespace.patch("cora", {"spec": {"runPolicy": {"suspend": True}}})
    namespace.wait_for_phase("cora", "Suspended", 90)
    namespace.patch("cora", {"spec": {**changes, "runPolicy": {"suspend": False}}})
