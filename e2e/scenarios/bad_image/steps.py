"""The trainers' image does not exist: the job says so, and goes on when the image is mended while it is suspended."""

import pathlib

LEVEL = "ci"
SECONDS = 240
MANIFEST = pathlib.Path(__file__).with_name("job.yaml")


def story(world):
    namespace = world.namespace
    namespace.apply(MANIFEST, image="localhost/espalier-trainer:there-is-none")
    namespace.wait_for_condition("cora", "TrainersReady", "False", "ImagePullBackOff", 90)

    # Images may change while a job is suspended, and only then.
    namespace.patch("cora", {"spec": {"runPolicy": {"suspend": True}}})
    namespace.wait_for_phase("cora", "Suspended", 90)
    namespace.patch("cora", {"spec": {"trainers": {"image": world.chart.trainer_image()}}})
    namespace.patch("cora", {"spec": {"runPolicy": {"suspend": False}}})
    job = namespace.wait_for_phase("cora", "Succeeded", 120)
    assert job["status"]["attempts"]["counted"] == 0, job["status"]["attempts"]
