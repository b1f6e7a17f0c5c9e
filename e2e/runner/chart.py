"""Espalier's chart on the cluster, with the images under test."""

import contextlib
import datetime
import json
import os
import pathlib

from cluster_setup import images
from runner import containers
from runner.commands import Failure, attempt, run, wait_for

CHART = pathlib.Path(__file__).resolve().parents[2] / "helm/espalier"
RELEASE, NAMESPACE = "espalier", "espalier-system"  # as docs/operations/install.md has them
DEFINITION = "disttrainings.espalier.io"
OPERATOR = "deployment/espalier-operator"
LEASE = "espalier-operator"
SCENARIO_SELECTOR = "espalier.io/e2e=scenario"  # label of the namespaces of scenarios


def install(*settings, chart=CHART):
    """Installs or upgrades the chart with helm; idempotent. `settings` are values of the chart, as NAME=VALUE."""
    prefix, tag = os.environ["ESPALIER_E2E_IMAGES"], os.environ["ESPALIER_E2E_TAG"]
    _enforce_pod_security()
    run(["helm", "upgrade", RELEASE, chart, "--install", "--namespace", NAMESPACE, "--create-namespace",
         "--set-string", f"image.core={prefix}-core,image.trainer={prefix}-trainer,image.tag={tag}",
         *(part for setting in settings for part in ("--set", setting)), "--wait", "--timeout", "120s"], timeout=150)


def _enforce_pod_security():
    """Enforces Pod Security `restricted` for the operator's pods too, as docs/operations/install.md says."""
    run(["kubectl", "apply", "--filename", "-"], stdin=json.dumps(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {
            "name": NAMESPACE, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}))


@contextlib.contextmanager
def replaced_operators():
    """A block in which the operator's pods are replaced. Ends when no earlier pod is left and the Deployment has all its
    replicas."""
    before = set(operator_pods())
    yield
    _wait_until_gone(before)


def _wait_until_gone(pods):
    """Waits for the end of `pods`, and of further pods of the old version: a rollout to more replicas first adds some."""
    wanted = int(_kubectl("get", OPERATOR, "--output=jsonpath={.spec.replicas}"))

    def look():
        now = set(operator_pods())
        return not pods & now and len(now) == wanted

    wait_for("the end of the former operators", 60, look)


def places_on_pages():
    """Returns {image on the pages: image under test, with its tag as a flag of helm}."""
    prefix, tag = os.environ["ESPALIER_E2E_IMAGES"], os.environ["ESPALIER_E2E_TAG"]
    return {"registry.example.com/espalier-core": f"{prefix}-core --set image.tag={tag}",
            "registry.example.com/espalier-trainer": f"{prefix}-trainer"}


def trainer_image():
    return _image("trainer")


def python_image():
    return _image("python")


def put_on_nodes(name, machines):
    """Puts a further image of the build under test, which e2e/run has made, on the nodes of a cluster of e2e/cluster;
    returns its name."""
    machines.load_image(images.ensure_more(name, os.environ["ESPALIER_E2E_TAG"]))
    return _image(name)


def _image(name):
    return f"{os.environ['ESPALIER_E2E_IMAGES']}-{name}:{os.environ['ESPALIER_E2E_TAG']}"


def is_installed():
    return attempt(["helm", "status", RELEASE, "--namespace", NAMESPACE]).returncode == 0


def used_by_others():
    """Describes what the scenarios would remove or change on a cluster that already has Espalier; None if it does not."""
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
    """Returns (namespace, name) of all DistTrainings."""
    listed = json.loads(run(["kubectl", "get", DEFINITION, "--all-namespaces", "--output=json"]))["items"]
    return [(job["metadata"]["namespace"], job["metadata"]["name"]) for job in listed]


def uninstall():
    """Uninstalls the chart. The CustomResourceDefinition and all DistTrainings stay, as the chart guarantees."""
    run(["helm", "uninstall", RELEASE, "--namespace", NAMESPACE, "--wait", "--timeout", "120s"], timeout=150)
    run(["kubectl", "delete", "namespace", NAMESPACE, "--timeout=60s"], timeout=90)


def remove():
    """Uninstalls the chart and deletes the CustomResourceDefinition, and with it all DistTrainings. Fails if there are
    DistTrainings outside the namespaces of scenarios."""
    uninstall()
    namespaces = run(["kubectl", "get", "namespaces", "--selector", SCENARIO_SELECTOR,
                      "--output=jsonpath={.items[*].metadata.name}"])
    others = [job for job in _jobs() if job[0] not in namespaces.split()]
    if others:
        raise Failure(f"the definition of {DEFINITION} is kept, because namespace {others[0][0]} has {others[0][1]}")
    run(["kubectl", "delete", "customresourcedefinition", DEFINITION, "--timeout=60s"], timeout=90)


def _operators():
    return json.loads(_kubectl("get", "pods", "--output=json", "--selector",
                               "app.kubernetes.io/component=operator"))["items"]


def operator_pods():
    return [pod["metadata"]["name"] for pod in _operators()]


def operator_nodes():
    return {pod["spec"].get("nodeName") for pod in _operators()}


def kill_operator():
    """Kills the operator's processes, which still hold the lease, and deletes its pods. Needs a cluster of e2e/cluster."""
    for pod in _operators():
        containers.kill_all(pod)
        _kubectl("delete", "pod", pod["metadata"]["name"], "--grace-period=0", "--force", "--wait=false")


def wait_for_operator(seconds=60):
    wait_for("the operator", seconds, lambda: attempt(
        ["kubectl", "--namespace", NAMESPACE, "rollout", "status", OPERATOR, "--timeout=5s"]).returncode == 0)


@contextlib.contextmanager
def without_operator():
    """A block in which no operator runs."""
    _kubectl("scale", OPERATOR, "--replicas=0")
    try:
        wait_for("the operator's end", 60, lambda: not operator_pods())
        yield
    finally:
        _kubectl("scale", OPERATOR, "--replicas=1")
        wait_for_operator()


@contextlib.contextmanager
def lease_of_another():
    """A block in which another identity holds the operator's lease. Begin it while no operator runs, because an operator
    that loses its lease ends."""
    another = "another-operator"
    _write_lease(another, seconds=3600)
    try:
        yield
    finally:
        _write_lease("", seconds=1)  # as a holder that releases the lease
        wait_for("an operator that leads", 60, lambda: _holder() not in ("", another), _holder)


def _holder():
    return _kubectl("get", "lease", LEASE, "--output=jsonpath={.spec.holderIdentity}")


def _write_lease(holder, seconds):
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    _kubectl("patch", "lease", LEASE, "--type=merge", "--patch", json.dumps(
        {"spec": {"holderIdentity": holder, "leaseDurationSeconds": seconds, "renewTime": now}}))


def _kubectl(*arguments, **kwargs):
    return run(["kubectl", "--namespace", NAMESPACE, *arguments], **kwargs)
