"""The chart is upgraded to another version and rolled back under a running job: operators are replaced, its pods stay."""

import json
import pathlib
import re
import shutil
import tempfile

from runner import pages
from runner.commands import run
from runner.world import CORA, ENDLESS

LEVEL = "ci"
SECONDS = 600
PAGE, HEADING = "docs/operations/install.md", "## Upgrade and roll back"
ANOTHER_IMAGE = "localhost/espalier-trainer-of-another-version"
NEXT_VERSION = "99.0.0"
# An optional field that the resource has since NEXT_VERSION.
FIELD = "note"
NOTED = "noted"  # a job with that field
NEW_FIELD = {"description": "human-readable", "type": "string", "maxLength": 64}
RUN_POLICY = "  runPolicy:\n"  # a line of the document
FIELDS_OF_SPEC = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties"


def run_steps(world):
    namespace = world.namespace
    namespace.apply(CORA, epochs=ENDLESS)
    namespace.wait_for_phase("cora", "Training", 120)
    pods = namespace.uids("cora")
    operators = set(world.chart.operator_pods())
    before = definition(world)
    assert FIELD not in before["fields"], before

    upgrade, roll_back = pages.commands(PAGE, HEADING)[0].splitlines()
    # The image for new jobs. The running job keeps the image that it was accepted with.
    changes = f" --set operator.replicas=2,operator.logFormat=text,image.trainer={ANOTHER_IMAGE}"
    with tempfile.TemporaryDirectory(prefix="espalier-e2e-chart-") as folder:
        copy = next_version(world.chart.CHART, pathlib.Path(folder))
        user = pages.Reader(pathlib.Path(folder), namespace.name, {"helm/espalier": str(copy)})
        try:
            with world.kept_evidence("upgraded"):
                with world.chart.replaced_operators():
                    user.do(upgrade + changes, 120)
                now = set(world.chart.operator_pods())
                assert len(now) == 2 and not now & operators, (operators, now)
                after = definition(world)
                assert after["version"] == NEXT_VERSION and after["fields"] == before["fields"] | {FIELD}, (before, after)
                assert after["uid"] == before["uid"], "the definition was made anew: every DistTraining went with it"
                assert_undisturbed(world, pods, "upgraded to another version and two operators")
                noted = make_noted(namespace)
        finally:
            with world.chart.replaced_operators():
                user.do(roll_back, 120)
    assert len(world.chart.operator_pods()) == 1, world.chart.operator_pods()
    assert definition(world) == before, (before, definition(world))
    assert_undisturbed(world, pods, "rolled back")
    # The job with the new field has lost this field, and nothing else.
    job = namespace.wait_for_phase(NOTED, "Suspended", 60)
    assert job["metadata"]["uid"] == noted and FIELD not in job["spec"], job

    # The earlier operator serves jobs.
    namespace.patch("cora", {"spec": {"runPolicy": {"suspend": True}}})
    job = namespace.wait_for_phase("cora", "Suspended", 90)
    assert job["status"]["attempts"]["counted"] == 0, job["status"]["attempts"]


def next_version(chart, folder):
    """Returns a copy of the chart with a later version number and a new field."""
    copy = folder / "espalier"
    shutil.copytree(chart, copy)
    of_chart = copy / "Chart.yaml"
    text, found = re.subn(r"^(version|appVersion): .*$", rf"\1: {NEXT_VERSION}", of_chart.read_text(), flags=re.M)
    assert found == 2, text
    of_chart.write_text(text)
    resource = copy / "files/disttrainings.yaml"
    addition = [{"op": "add", "path": f"{FIELDS_OF_SPEC}/{FIELD}", "value": NEW_FIELD}]
    resource.write_text(run(["kubectl", "patch", "--local", "--filename", resource, "--type=json", "--output=yaml",
                             "--patch", json.dumps(addition)]))
    return copy


def make_noted(namespace):
    """Creates a suspended job with the new field; its image does not exist. Returns its uid."""
    document = namespace.document(CORA, name=NOTED)
    assert document.count(RUN_POLICY) == 1, document
    noted = document.replace(RUN_POLICY, f"  {FIELD}: made by the next version\n{RUN_POLICY}    suspend: true\n")
    namespace.kubectl("apply", "--filename", "-", stdin=noted)
    job = namespace.job(NOTED)
    assert FIELD in job["spec"], job["spec"]
    return job["metadata"]["uid"]


def definition(world):
    """Returns uid, version and fields of the CustomResourceDefinition on the cluster."""
    found = json.loads(run(["kubectl", "get", "customresourcedefinition", world.chart.DEFINITION, "--output=json"]))
    version, = found["spec"]["versions"]
    spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    return {"uid": found["metadata"]["uid"], "version": found["metadata"]["labels"]["app.kubernetes.io/version"],
            "fields": set(spec["properties"])}


def assert_undisturbed(world, pods, what):
    status = world.namespace.job("cora")["status"]
    assert status["phase"] == "Training" and status["incarnation"] == 1, (what, status)
    assert ANOTHER_IMAGE not in str(status["images"]), (what, status["images"])
    assert world.namespace.uids("cora") == pods, (what, world.namespace.uids("cora"), pods)
    restarts = {name: container["restartCount"] for name, pod in world.namespace.pods("cora").items()
                for container in pod["status"]["containerStatuses"]}
    assert not any(restarts.values()), (what, restarts)
    world.namespace.wait_until_it_trains("cora", 120)
    world.note(f"{what}, while training")
