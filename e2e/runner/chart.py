"""Espalier's chart on the cluster, with the images under test."""

import contextlib
import datetime
import json
import os
import pathlib

from runner import containers
from runner.commands import Failure, attempt, run, wait_for

CHART = pathlib.Path(__file__).resolve().parents[2] / "helm/espalier"
RELEASE, NAMESPACE = "espalier", "espalier-system"  # as docs/operations/install.md has them
DEFINITION = "disttrainings.espalier.io"
OPERATOR = "deployment/espalier-operator"
LEASE = "espalier-operator"
STORIES = "espalier.io/e2e=scenario"  # label of the namespaces in which stories are told


def install(*settings, chart=CHART):
    """As a user would; idempotent. `settings` are values of the chart, as NAME=VALUE."""
    images, tag = os.environ["ESPALIER_E2E_IMAGES"], os.environ["ESPALIER_E2E_TAG"]
    _enforce_pod_security()
    run(["helm", "upgrade", RELEASE, chart, "--install", "--namespace", NAMESPACE, "--create-namespace",
         "--set-string", f"image.core={images}-core,image.trainer={images}-trainer,image.tag={tag}",
         *(part for setting in settings for part in ("--set", setting)), "--wait", "--timeout", "120s"], timeout=150)


def _enforce_pod_security():
    """Also of the operator's own pods, which docs/operations/install.md promises."""
    run(["kubectl", "apply", "--filename", "-"], stdin=json.dumps(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {
            "name": NAMESPACE, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}))


@contextlib.contextmanager
def replaced_operators():
    """Returns when the operators of before are gone, and as many as the Deployment wants are there."""
    before = set(operator_pods())
    yield
    _wait_until_gone(before)


def _wait_until_gone(pods):
    """Also those of before that the Deployment made on the way: a rollout to more replicas begins with more of the old."""
    wanted = int(_kubectl("get", OPERATOR, "--output=jsonpath={.spec.replicas}"))

    def look():
        now = set(operator_pods())
        return not pods & now and len(now) == wanted

    wait_for("the end of the former operators", 60, look)


def places_on_pages():
    """What the pages' examples of the chart's images are here: other names, and another tag than the chart's own."""
    images, tag = os.environ["ESPALIER_E2E_IMAGES"], os.environ["ESPALIER_E2E_TAG"]
    return {"registry.example.com/espalier-core": f"{images}-core --set image.tag={tag}",
            "registry.example.com/espalier-trainer": f"{images}-trainer"}


def trainer_image():
    return _image("trainer")


def python_image():
    return _image("python")


def _image(name):
    return f"{os.environ['ESPALIER_E2E_IMAGES']}-{name}:{os.environ['ESPALIER_E2E_TAG']}"


def is_installed():
    return attempt(["helm", "status", RELEASE, "--namespace", NAMESPACE]).returncode == 0


def used_by_others():
    """What stories would take away or change on a cluster that has Espalier already, in words; None where it has not."""
    if run(["kubectl", "get", "namespace", NAMESPACE, "--ignore-not-found", "--output=name"]):
        return f"it has a namespace {NAMESPACE}"
    found = run(["kubectl", "get", "customresourcedefinition", DEFINITION, "--ignore-not-found", "--output=json"])
    if not found:
        return None
    notes = json.loads(found)["metadata"].get("annotations", {})
    release = tuple(notes.get(f"meta.helm.sh/release-{part}") for part in ("name", "namespace"))
    if release != (RELEASE, NAMESPACE):
        return f"its definition of {DEFINITION} is not of the release {RELEASE} in {NAMESPACE}"
    jobs = _jobs()
    return f"it has DistTrainings, among them {' '.join(jobs[0])}" if jobs else None


def _jobs():
    """(namespace, name) of all DistTrainings."""
    listed = json.loads(run(["kubectl", "get", DEFINITION, "--all-namespaces", "--output=json"]))["items"]
    return [(job["metadata"]["namespace"], job["metadata"]["name"]) for job in listed]


def uninstall():
    """The resource's definition stays, with every DistTraining: that is what the chart promises."""
    run(["helm", "uninstall", RELEASE, "--namespace", NAMESPACE, "--wait", "--timeout", "120s"], timeout=150)
    run(["kubectl", "delete", "namespace", NAMESPACE, "--timeout=60s"], timeout=90)


def remove():
    """As if it had never been there: the resource's definition goes too, and with it every DistTraining. Those of others
    are in its way."""
    uninstall()
    told = run(["kubectl", "get", "namespaces", "--selector", STORIES, "--output=jsonpath={.items[*].metadata.name}"])
    others = [job for job in _jobs() if job[0] not in told.split()]
    if others:
        raise Failure(f"the definition of {DEFINITION} stays, for there is {others[0][1]} in the namespace {others[0][0]}")
    run(["kubectl", "delete", "customresourcedefinition", DEFINITION, "--timeout=60s"], timeout=90)


def _operators():
    return json.loads(_kubectl("get", "pods", "--output=json", "--selector",
                               "app.kubernetes.io/component=operator"))["items"]


def operator_pods():
    return [pod["metadata"]["name"] for pod in _operators()]


def operator_nodes():
    return {pod["spec"].get("nodeName") for pod in _operators()}


def kill_operator():
    """Its processes end at once, with the lease in their hands, and its pods go with them. Needs a cluster of
    e2e/cluster."""
    for pod in _operators():
        containers.kill_all(pod)
        _kubectl("delete", "pod", pod["metadata"]["name"], "--grace-period=0", "--force", "--wait=false")


def wait_for_operator(seconds=60):
    wait_for("the operator", seconds, lambda: attempt(
        ["kubectl", "--namespace", NAMESPACE, "rollout", "status", OPERATOR, "--timeout=5s"]).returncode == 0)


@contextlib.contextmanager
def without_operator():
    """A time in which no operator runs."""
    _kubectl("scale", OPERATOR, "--replicas=0")
    try:
        wait_for("the operator's end", 60, lambda: not operator_pods())
        yield
    finally:
        _kubectl("scale", OPERATOR, "--replicas=1")
        wait_for_operator()


@contextlib.contextmanager
def lease_of_another():
    """A time in which somebody else holds the operator's lease. To be begun while no operator runs: one that leads ends
    itself when it sees that."""
    another = "somebody-else"
    _write_lease(another, seconds=3600)
    try:
        yield
    finally:
        _write_lease("", seconds=1)  # as who gives it back
        wait_for("an operator that leads", 60, lambda: _holder() not in ("", another), _holder)


def _holder():
    return _kubectl("get", "lease", LEASE, "--output=jsonpath={.spec.holderIdentity}")


def _write_lease(holder, seconds):
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    _kubectl("patch", "lease", LEASE, "--type=merge", "--patch", json.dumps(
        {"spec": {"holderIdentity": holder, "leaseDurationSeconds": seconds, "renewTime": now}}))


def _kubectl(*arguments, **kwargs):
    return run(["kubectl", "--namespace", NAMESPACE, *arguments], **kwargs)
