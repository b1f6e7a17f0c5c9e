"""Gangs of the real kube-scheduler: two jobs each need more than half of the nodes; one starts as a whole, and the
other holds no node until it can start as a whole. Without the API, jobs run without gangs."""

import time

from .api_server import tools_folder
from .audit import AuditLog
from .children import delete_all
from .cluster import OURS, ControlPlane
from .jobs import COMPONENT, LABEL, TERMINAL, condition, label, phase, training
from .operator_process import Operator
from .permissions import allow_gangs_in, allow_in, install_roles
from .processes import wait_until
from .report import Report
from .sampler import Sampler

NAMESPACE = "gangs"
NODES = 8
MEMBERS = 5  # more than half of the nodes, for each of two jobs
WHOLE_NODE = {"requests": {"cpu": "40", "memory": "64Mi"}, "limits": {"memory": "256Mi"}}  # a node has 64
SECONDS = 60
NEVER = "never"  # this incarnation runs until it is stopped
CONDITIONS = {"server": "ServersReady", "trainer": "TrainersReady"}


def gang(name, role, **options):
    """A job whose pods of `role` take a node each."""
    counts = {"trainers": MEMBERS} if role == "trainer" else {"partitions": MEMBERS}
    document = training(name, **counts, **options)
    document["spec"]["trainers"]["maxReplicas"] = MEMBERS
    document["spec"]["trainers" if role == "trainer" else "servers"]["resources"] = WHOLE_NODE
    return document


class Placements(Sampler):
    """Samples several times a second, until stop, the jobs whose large pods have nodes."""

    def __init__(self, api, role):
        self.api = api
        self.role = role
        self.overlaps = []
        super().__init__()

    def sample(self):
        held = placed(self.api, self.role)
        if len(held) > 1:
            self.overlaps.append(str(held))


def placed(api, role):
    """{job: number of its pods of the role that have a node and have not ended}"""
    counts = {}
    for pod in api.list("Pod", NAMESPACE, OURS):
        ended = pod["status"].get("phase") in TERMINAL or "deletionTimestamp" in pod["metadata"]
        if label(pod, COMPONENT) == role and pod["spec"].get("nodeName") and not ended:
            counts[label(pod, LABEL)] = counts.get(label(pod, LABEL), 0) + 1
    return counts


class Gangs:
    def __init__(self, plane, operator, report):
        self.api = plane.api
        self.operator = operator
        self.report = report

    def job(self, name):
        return self.api.get("DistTraining", NAMESPACE, name) or {}

    def groups(self, name):
        return {group["metadata"]["name"]: group for group in self.api.list("PodGroup", NAMESPACE, f"{LABEL}={name}")}

    def expect_soon(self, question, sentence, name, seconds=SECONDS):
        began = time.monotonic()
        try:
            wait_until(question, seconds, sentence)
        except TimeoutError:
            self.report.expect(False, sentence, f"{self.job(name).get('status')}\n{self.groups(name)}")
            return False
        self.report.expect(True, f"{sentence} ({time.monotonic() - began:.1f} s)")
        return True

    def await_phase(self, name, wanted, sentence="", seconds=SECONDS):
        return self.expect_soon(lambda: phase(self.job(name)) == wanted, sentence or f"{name}: {wanted}", name, seconds)


def _race(gangs, role):
    """Two jobs want more than half of the nodes at the same time."""
    names = [f"{role}s-of-a", f"{role}s-of-b"]
    placements = Placements(gangs.api, role)
    for name in names:
        gangs.api.create(gang(name, role, lasts="20s"), NAMESPACE)
    if not gangs.expect_soon(lambda: MEMBERS in placed(gangs.api, role).values(),
                             f"one of the jobs has nodes for all {MEMBERS} {role}s", names[0]):
        placements.stop()
        return
    [first] = placed(gangs.api, role)
    [second] = [name for name in names if name != first]
    kind = CONDITIONS[role]

    def waits_as_a_whole():
        state = condition(gangs.job(second), kind)
        return state.get("status") == "False" and state.get("reason") == "Unschedulable" and \
            state.get("message", "").startswith(f"the {MEMBERS} pods of spec.{role}s start together or not at all")
    gangs.expect_soon(waits_as_a_whole, f"the other one: {kind} says that all {MEMBERS} wait for nodes", second)
    gangs.report.row("", condition(gangs.job(second), kind).get("message", "")[:200])
    gangs.operator.process.kill()
    gangs.operator.start()
    gangs.await_phase(first, "Succeeded", "the first one: Succeeded")
    gangs.await_phase(second, "Succeeded", "the other one, when the nodes are free: Succeeded", 2 * SECONDS)
    placements.stop()
    gangs.report.row(f"{role}s: samples", placements.samples)
    gangs.report.expect_none(placements.overlaps, f"never did {role}s of both jobs hold nodes")
    gangs.report.expect_none(placements.failures, "every sample was taken")


def _follow_groups(gangs):
    """The PodGroups of a job that restarts, is suspended, and resumes."""
    name = "restarted"
    gangs.api.create(gang(name, "trainer", ends=(70, NEVER)), NAMESPACE)
    gangs.expect_soon(lambda: gangs.job(name).get("status", {}).get("incarnation") == 2 and
                      phase(gangs.job(name)) == "Training", f"{name}: the second incarnation trains", name)
    gangs.expect_soon(lambda: set(gangs.groups(name)) == {f"{name}-server", f"{name}-trainer-2"},
                      f"{name}: the PodGroup of the first incarnation is gone", name)

    def min_count(group):
        return group["spec"]["schedulingPolicy"]["gang"]["minCount"]
    gangs.expect_soon(lambda: min_count(gangs.groups(name)[f"{name}-server"]) == 1,
                      f"{name}: servers that have started together are replaced one by one", name)
    groups = gangs.groups(name)
    gangs.report.expect(min_count(groups[f"{name}-trainer-2"]) == MEMBERS, f"{name}: all trainers are one gang", groups)
    owners = {owner["kind"] for group in groups.values() for owner in group["metadata"]["ownerReferences"]}
    gangs.report.expect(owners == {"DistTraining"}, f"{name}: the job owns its PodGroups", owners)
    gangs.api.patch("DistTraining", NAMESPACE, name, {"spec": {"runPolicy": {"suspend": True}}})
    gangs.await_phase(name, "Suspended")
    gangs.expect_soon(lambda: not gangs.groups(name), f"{name}: no PodGroups while it is suspended", name)
    gangs.api.patch("DistTraining", NAMESPACE, name, {"spec": {"runPolicy": {"suspend": False}}})
    gangs.await_phase(name, "Succeeded", f"{name}: resumed as a whole, Succeeded")


def _run_without(gangs):
    """A job with `gang: Never` has no PodGroup."""
    document = gang("single", "trainer")
    document["spec"]["scheduling"] = {"gang": "Never"}
    gangs.api.create(document, NAMESPACE)
    gangs.await_phase("single", "Succeeded", "single: without PodGroups, Succeeded")
    gangs.report.expect(not gangs.groups("single"), "single: it never had one", gangs.groups("single"))


def _run_where_the_api_is_missing(plane, report):
    user = plane.take_user()
    plane.make_namespace(NAMESPACE)
    allow_in(plane, user, NAMESPACE)
    allow_gangs_in(plane, user, NAMESPACE)
    audit = AuditLog(plane.audit_log, [user])
    with Operator(plane, user, namespace=NAMESPACE, flags=["--gang-scheduling"]) as operator:
        operator.await_words("reconciling")
        plane.api.create(training("older", samplers=2), NAMESPACE)
        try:
            wait_until(lambda: phase(plane.api.get("DistTraining", NAMESPACE, "older")) == "Succeeded", SECONDS, "it succeeds")
        except TimeoutError:
            pass
        job = plane.api.get("DistTraining", NAMESPACE, "older")
        report.expect(phase(job) == "Succeeded", "an API server without PodGroups: the job succeeds", job.get("status"))
        sets = plane.api.list("Job", NAMESPACE, OURS) + plane.api.list("StatefulSet", NAMESPACE, OURS)
        report.expect(all("schedulingGroup" not in one["spec"]["template"]["spec"] for one in sets),
                      "its pods are in no group")
        lists = [request for request in audit.requests() if request.resource == "podgroups"]
        report.row("an API server without PodGroups: requests for them", len(lists))
        report.expect(bool(lists), "the operator has asked for them")
        report.expect_none(delete_all(plane, NAMESPACE), "nothing is left of the deleted job")


def run(plane, _):
    report = Report("gangs", "pods that start together or not at all")
    _run_where_the_api_is_missing(plane, report)
    folder = plane.folder / "newest"
    folder.mkdir()
    newest = tools_folder("ESPALIER_KUBE_NEWEST", "kube-newest")
    with ControlPlane(folder, NODES, tools=newest, gates=("GenericWorkload",),
                      apis=("scheduling.k8s.io/v1beta1",)) as with_groups:
        install_roles(with_groups)
        user = with_groups.take_user()
        with_groups.make_namespace(NAMESPACE, {"pod-security.kubernetes.io/enforce": "restricted"})
        allow_in(with_groups, user, NAMESPACE)
        allow_gangs_in(with_groups, user, NAMESPACE)
        audit = AuditLog(with_groups.audit_log, [user])
        with Operator(with_groups, user, namespace=NAMESPACE, flags=["--gang-scheduling"]) as operator:
            operator.await_words("reconciling")
            gangs = Gangs(with_groups, operator, report)
            _race(gangs, "trainer")
            _race(gangs, "server")
            _follow_groups(gangs)
            _run_without(gangs)
            report.expect_none(delete_all(with_groups, NAMESPACE), "nothing is left of deleted jobs")
            gone = "their PodGroups are deleted"
            # The garbage collector reads new kinds of objects every 30 s.
            gangs.expect_soon(lambda: not with_groups.api.list("PodGroup", NAMESPACE), gone, "", 90)
        report.expect_none(audit.forbidden(), "nothing was asked for that the Roles do not allow")
    return report.end()
