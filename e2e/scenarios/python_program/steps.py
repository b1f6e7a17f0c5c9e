"""Python scripts: one stops on request and resumes; another ends each rank by a different exception."""

import base64
import hashlib
import json
import pathlib
import re

from runner import pod_ends, scripts
from runner.programs import said_by_rank_zero

LEVEL = "ci"
SECONDS = 240
HERE = pathlib.Path(__file__).parent
ASKED_TO_STOP = 75
END = re.compile(r"  # (\d+)(?: (.*))?$")  # behind a line of ends.py


def run_steps(world):
    namespace = world.namespace
    archive = scripts.archive(HERE / "ends.py", broken="def f(:\n")
    namespace.apply_object({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "scripts"},
                            "binaryData": {"scripts.zip": base64.b64encode(archive).decode()}})
    expected = expected_ends((HERE / "ends.py").read_text())
    with pod_ends.followed(namespace, "trainer") as ends:
        apply(world, "train", ranks=2)
        namespace.wait_for_checkpoint("train", 120)
        suspend(namespace, True)
        apply(world, "ends", ranks=len(expected))  # at the same time as the other job, which leaves processors idle now
        stops_when_it_is_asked(namespace, ends)
        suspend(namespace, False)
        ends_as_expected(namespace, ends, expected)
        job = trains_on(world)
    script = job["status"]["script"]
    assert script["sha256"] == hashlib.sha256(archive).hexdigest(), script


def apply(world, name, ranks):
    script = f"{{configMapKeyRef: {{name: scripts, key: scripts.zip}}, entrypoint: {name}.py}}"
    world.namespace.apply(scripts.JOB, name=name, trainers=str(ranks), image=world.chart.python_image(), script=script)


def suspend(namespace, is_suspended):
    namespace.patch("train", {"spec": {"runPolicy": {"suspend": is_suspended}}})


def expected_ends(script):
    """Returns (exit code, beginning, end) of each rank's termination message; the beginning is None if it has none."""
    ends = []
    for number, line in enumerate(script.splitlines(), start=1):
        found = END.search(line)
        if found:
            ends.append((int(found[1]), found[2], f"(ends.py, line {number})"))
    assert len(ends) == 10, ends
    return ends


def stops_when_it_is_asked(namespace, ends):
    namespace.wait_for_phase("train", "Suspended", 90)
    for rank in range(2):
        end = ends.wait_for("train", rank, 1, 30)
        assert end.exit_code == ASKED_TO_STOP and json.loads(end.message)["message"] == "asked to stop", end


def ends_as_expected(namespace, ends, expected):
    job = namespace.wait_for_phase("ends", "Failed", 120)
    for rank, (code, begin, line) in enumerate(expected):
        end = ends.wait_for("ends", rank, 1, 60)
        assert end.exit_code == code, (rank, code, end)
        if begin is not None:
            check_words(json.loads(end.message)["message"], begin, line)

    # The exit code of one of the ranks that end the job. The ranks are not restarted.
    error = job["status"]["lastError"]
    code, begin, line = expected[ends.rank_of(error["pod"])]
    assert code in (64, 65) and error["exitCode"] == code, error
    check_words(error["message"], begin, line)
    condition = namespace.condition("ends", "Failed")
    assert condition["status"] == "True" and error["message"] in condition["message"], condition
    assert job["status"]["incarnation"] == 1, job["status"]


def check_words(message, begin, line):
    assert message.startswith(begin) and message.endswith(line), (message, begin, line)


def trains_on(world):
    job = world.namespace.wait_for_phase("train", "Succeeded", 120)
    assert job["status"]["attempts"]["counted"] == 0, job["status"]["attempts"]
    said = said_by_rank_zero(world.namespace, "train", job["status"]["incarnation"], "testAccuracy")
    world.note(f"accuracy {said['testAccuracy']:.3f} on test nodes, from step {said['begunAt']} on")
    assert said["testAccuracy"] >= scripts.LEAST_ACCURACY and said["begunAt"] > 0, said
    return job
