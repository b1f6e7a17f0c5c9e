"""A Python script in the bucket is replaced: no program runs until the first script is back, then the job resumes."""

import hashlib
import pathlib
import tempfile

from runner import scripts
from runner.programs import said_by_rank_zero

LEVEL = "full"
SECONDS = 240


def run_steps(world):
    namespace = world.namespace
    first, second = scripts.archive(), scripts.archive(another="")
    digests = [hashlib.sha256(archive).hexdigest() for archive in (first, second)]
    put(namespace, first)
    script = f'{{uri: "{namespace.bucket.uri(namespace.name)}/code/scripts.zip", entrypoint: train.py}}'
    namespace.apply(scripts.JOB, name="train", trainers="2", image=world.chart.python_image(), script=script)
    namespace.wait_for_checkpoint("train", 120)
    assert namespace.job("train")["status"]["script"]["sha256"] == digests[0], namespace.job("train")["status"]

    suspend(namespace)
    put(namespace, second)
    resume(namespace)
    namespace.wait_for_condition("train", "Restarting", "True", "ScriptChanged", 120)
    message = namespace.condition("train", "Restarting")["message"]
    assert all(digest in message for digest in digests), message

    suspend(namespace)
    put(namespace, first)
    resume(namespace)
    job = namespace.wait_for_phase("train", "Succeeded", 120)
    assert job["status"]["script"]["sha256"] == digests[0], job["status"]["script"]
    assert job["status"]["attempts"]["counted"] >= 1, job["status"]["attempts"]
    said = said_by_rank_zero(namespace, "train", job["status"]["incarnation"], "testAccuracy")
    world.note(f"accuracy {said['testAccuracy']:.3f} on test nodes, from step {said['begunAt']} on")
    assert said["testAccuracy"] >= scripts.LEAST_ACCURACY and said["begunAt"] > 0, said


def put(namespace, archive):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "scripts.zip"
        path.write_bytes(archive)
        namespace.bucket.upload_folder(path.parent, f"{namespace.name}/code")


def suspend(namespace):
    namespace.patch("train", {"spec": {"runPolicy": {"suspend": True}}})
    namespace.wait_for_phase("train", "Suspended", 90)


def resume(namespace):
    namespace.patch("train", {"spec": {"runPolicy": {"suspend": False}}})
