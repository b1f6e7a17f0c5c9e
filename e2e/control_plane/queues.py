"""DistTrainings in queues of the real Kueue: they wait, run in their flavor, are preempted, and end; quota is kept."""

import time

from .audit import AuditLog
from .children import delete_all
from .cluster import OURS
from .history import History
from .jobs import COMPONENT, LABEL, condition, label, phase
from .kueue import Kueue
from .operator_process import Operator
from .permissions import allow_in, allow_queues_in
from .processes import wait_until
from .queued_jobs import API, NEVER, POOL, POOL_NODES, QUEUE_LABEL, TOLERATION, QuotaUsage, make_queues, queued
from .report import Report

NAMESPACE = "queues"
# A job of training() has a partitioner, two servers and two trainers, each with 100m: 500m, and 400m once the partitions
# exist and the partitioner is reclaimed. So two jobs fit into "spot", the second after the first has partitioned.
QUOTA_MILLICORES = {"spot": 900, "small": 500, "racks": 100_000}
RACK = "e2e.espalier.io/rack"  # the upper level of the topology of the flavor "racks", which has two racks of two nodes
HOST = "kubernetes.io/hostname"  # its lower level, which Kueue adds to the pods
RACK_POOL = {"e2e.espalier.io/pool": "racks"}
NODES_IN_RACKS = 4
RACKED = "racked"
ENTRANT = "entrant"  # runs without a queue at first, so that its pods have no quota until it is suspended
SECONDS = 60  # timeout of a job's next state


class Queues:
    """The jobs of the namespace and their Workloads."""

    def __init__(self, plane, operator, report):
        self.api = plane.api
        self.operator = operator
        self.report = report

    def create(self, *arguments, **options):
        self.api.create(queued(*arguments, **options), NAMESPACE)

    def job(self, name):
        return self.api.get("DistTraining", NAMESPACE, name)

    def workload(self, name):
        return self.api.get("Workload", NAMESPACE, f"{name}-workload") or {"metadata": {}, "status": {}}

    def workload_condition(self, name, kind):
        return condition(self.workload(name), kind)

    def is_true(self, name, kind):
        return self.workload_condition(name, kind).get("status") == "True"

    def pods(self, name, component=""):
        return [pod for pod in self.api.list("Pod", NAMESPACE, f"{OURS},{LABEL}={name}")
                if component in ("", label(pod, COMPONENT))]

    def expect_soon(self, question, sentence, name, seconds=SECONDS):
        """Waits for an expectation about the job `name`. If it is not met in time, the report has the job's state."""
        began = time.monotonic()
        try:
            wait_until(question, seconds, sentence)
        except TimeoutError:
            self.report.expect(False, sentence, f"{(self.job(name) or {}).get('status')}\n{self.workload(name)['status']}")
            return False
        self.report.expect(True, f"{sentence} ({time.monotonic() - began:.1f} s)")
        return True

    def await_phase(self, name, wanted, sentence=""):
        return self.expect_soon(lambda: phase(self.job(name)) == wanted, sentence or f"{name}: {wanted}", name)

    def await_waiting(self, name):
        """Expects that the job has no quota, and that its condition has Kueue's message."""
        def is_waiting():
            quota = condition(self.job(name), "QuotaReserved")
            return phase(self.job(name)) == "Suspended" and quota.get("status") == "False" and \
                quota.get("reason") == "Pending" and "insufficient unused quota" in quota.get("message", "")
        self.expect_soon(is_waiting, f"{name}: Suspended, QuotaReserved is False with Kueue's message", name)
        self.report.row("", condition(self.job(name), "QuotaReserved").get("message", "")[:160])
        self.report.expect(not self.pods(name), f"{name}: no pods while it waits")

    def kill_operator(self):
        self.operator.process.kill()
        self.operator.start()


def _make_racks(plane, kueue):
    """The flavor "racks", on nodes that are not in the pool of the flavor "spot"."""
    nodes = [node["metadata"]["name"] for node in plane.api.list("Node")][POOL_NODES:POOL_NODES + NODES_IN_RACKS]
    for number, node in enumerate(nodes):
        plane.api.patch("Node", None, node, {"metadata": {"labels": {**RACK_POOL, RACK: f"rack-{number % 2}"}}})
    kueue.create({"apiVersion": API, "kind": "Topology", "metadata": {"name": "racks"},
                  "spec": {"levels": [{"nodeLabel": RACK}, {"nodeLabel": HOST}]}})
    kueue.create({"apiVersion": API, "kind": "ResourceFlavor", "metadata": {"name": "racks"},
                  "spec": {"nodeLabels": RACK_POOL, "topologyName": "racks"}})


def _wait_for_quota(queues):
    queues.create("first", lasts="25s")
    queues.await_phase("first", "Training")
    queues.create("second", lasts="25s")
    queues.await_phase("second", "Training", "second: Training, with the quota of the first one's partitioner")
    for name in ("first", "second"):
        queues.expect_soon(lambda: queues.is_true(name, "PodsReady"), f"{name}: PodsReady of its Workload", name)
    queues.create("third")
    queues.await_waiting("third")
    queues.kill_operator()
    for name in ("first", "second", "third"):
        queues.await_phase(name, "Succeeded")
        queues.expect_soon(lambda: queues.is_true(name, "Finished"), f"{name}: its Workload is Finished", name)
    admitted = queues.workload_condition("third", "Admitted").get("lastTransitionTime", "")
    ended = min(queues.workload_condition(name, "Finished").get("lastTransitionTime", "") for name in ("first", "second"))
    queues.report.expect(admitted >= ended > "", "third was admitted when one of the others had ended",
                         f"admitted at {admitted}, the other ended at {ended}")


def _preempt(queues):
    queues.create("low", priority="batch", trainers=4, ends=(NEVER,))
    queues.await_phase("low", "Training")
    queues.create("high", priority="urgent", lasts="5s")
    queues.expect_soon(lambda: queues.is_true("low", "Evicted"), "low: evicted for high", "low")
    queues.report.expect(queues.workload_condition("low", "Evicted").get("reason") == "Preempted", "low: Preempted")
    queues.kill_operator()
    queues.await_phase("low", "Suspended")
    queues.report.expect(not queues.pods("low"), "low: no pods when it is Suspended")
    queues.expect_soon(lambda: not queues.is_true("low", "QuotaReserved"), "low: its quota is released", "low")
    queues.await_phase("high", "Succeeded")
    queues.await_phase("low", "Succeeded", "low: admitted again, Succeeded")
    status = queues.job("low")["status"]
    queues.report.expect(status["incarnation"] == 2, "low: two incarnations", status)
    queues.report.expect(status.get("attempts", {}).get("counted", 0) == 0, "low: no attempt is counted", status)


def _admit_partially(queues):
    queues.create("partial", "small", trainers=4, min_trainers=2, lasts="5s")
    queues.await_phase("partial", "Training")
    queues.report.expect(len(queues.pods("partial", "trainer")) == 2, "partial: 2 of 4 trainers, as admitted",
                         queues.workload("partial")["status"].get("admission"))
    message = condition(queues.job("partial"), "QuotaReserved").get("message")
    queues.report.expect(message == "Workload partial-workload is admitted by ClusterQueue small, with 2 of 4 trainers",
                         "partial: QuotaReserved has both numbers", message)
    queues.await_phase("partial", "Succeeded")
    status = queues.job("partial")["status"]
    queues.report.expect(status["trainerReplicas"] == 2, "partial: trainerReplicas is 2", status)


def _place_in_a_rack(queues):
    """Trainers that must be in one rack and need a node each, in a queue that assigns a place to every pod."""
    document = queued(RACKED, "racks", lasts="5s")
    document["spec"]["trainers"]["resources"] = {"requests": {"cpu": "40", "memory": "64Mi"}}  # of the 64 of a node
    document["spec"]["trainers"]["template"]["metadata"]["annotations"]["kueue.x-k8s.io/podset-required-topology"] = RACK
    queues.api.create(document, NAMESPACE)
    queues.await_phase(RACKED, "Training")
    racks = {node["metadata"]["name"]: label(node, RACK) for node in queues.api.list("Node")}
    pods = queues.pods(RACKED)
    places = {pod["metadata"]["name"]: racks[pod["spec"]["nodeName"]] for pod in pods}
    queues.report.expect(all(places.values()), f"{RACKED}: all pods are in racks", places)
    nodes = {pod["spec"]["nodeName"] for pod in queues.pods(RACKED, "trainer")}
    queues.report.expect(len(nodes) == 2 and len({racks[node] for node in nodes}) == 1,
                         f"{RACKED}: its trainers are on two nodes of one rack", places)
    without = [pod["metadata"]["name"] for pod in pods if HOST not in pod["spec"].get("nodeSelector", {})]
    queues.report.expect_none(without, f"{RACKED}: Kueue has given each pod a place")
    queues.await_phase(RACKED, "Succeeded")


def _deactivate(queues):
    queues.create("paused", ends=(NEVER,))
    queues.await_phase("paused", "Training")
    queues.api.patch("Workload", NAMESPACE, "paused-workload", {"spec": {"active": False}})
    queues.await_phase("paused", "Suspended")
    queues.expect_soon(lambda: not queues.is_true("paused", "QuotaReserved"), "paused: its quota is released", "paused")
    queues.report.expect(condition(queues.job("paused"), "QuotaReserved").get("reason") == "Evicted",
                         "paused: QuotaReserved says that it is evicted", queues.job("paused")["status"])
    queues.api.patch("Workload", NAMESPACE, "paused-workload", {"spec": {"active": True}})
    queues.await_phase("paused", "Succeeded", "paused: active again, Succeeded")


def _exceed_time(queues):
    queues.create("long", ends=(NEVER,), max_seconds="15")
    queues.await_phase("long", "Training")
    queues.await_phase("long", "Suspended", "long: Suspended after 15 s of admission")
    queues.expect_soon(lambda: not queues.is_true("long", "QuotaReserved"), "long: its quota is released", "long")
    queues.report.expect(queues.workload("long")["spec"].get("active") is False, "long: Kueue has deactivated it")
    queues.report.row("", condition(queues.job("long"), "QuotaReserved").get("message", "")[:160])
    queues.api.delete("Workload", NAMESPACE, "long-workload")
    queues.await_phase("long", "Succeeded", "long: with a new Workload, Succeeded")


def _suspend(queues):
    queues.create("held", ends=(NEVER,))
    queues.await_phase("held", "Training")
    queues.api.patch("DistTraining", NAMESPACE, "held", {"spec": {"runPolicy": {"suspend": True}}})
    queues.expect_soon(lambda: not queues.workload("held")["metadata"], "held: suspended, its Workload is deleted", "held")
    queues.report.expect(not queues.pods("held"), "held: no pods when its Workload is deleted")
    queues.api.patch("DistTraining", NAMESPACE, "held", {"spec": {"runPolicy": {"suspend": False}}})
    queues.await_phase("held", "Succeeded", "held: resumed, Succeeded")


def _lose_the_workload(queues):
    queues.create("lost", ends=(NEVER,))
    queues.await_phase("lost", "Training")
    uid = queues.workload("lost")["metadata"]["uid"]
    queues.api.delete("Workload", NAMESPACE, "lost-workload")
    queues.expect_soon(lambda: queues.workload("lost")["metadata"].get("uid", uid) != uid, "lost: has a new Workload", "lost")
    queues.await_phase("lost", "Succeeded", "lost: admitted again, Succeeded")
    status = queues.job("lost")["status"]
    queues.report.expect(status["incarnation"] == 2, "lost: two incarnations", status)


def _scale(queues):
    """Changes the number of trainers of a running job and of a waiting one."""
    queues.create("grown", trainers=3, ends=(NEVER,))
    queues.await_phase("grown", "Training")
    queues.create("behind", ends=(NEVER,))
    queues.await_waiting("behind")
    uid = queues.workload("behind")["metadata"]["uid"]
    queues.api.patch("DistTraining", NAMESPACE, "behind", {"spec": {"trainers": {"replicas": 1}}})
    queues.await_phase("behind", "Training", "behind: needs less, Training")
    queues.report.expect(queues.workload("behind")["metadata"]["uid"] == uid, "behind: has the same Workload")
    queues.api.patch("DistTraining", NAMESPACE, "grown", {"spec": {"trainers": {"replicas": 4}}})
    queues.await_waiting("grown")
    queues.api.delete("DistTraining", NAMESPACE, "behind")
    queues.await_phase("grown", "Succeeded", "grown: admitted with four trainers, Succeeded")
    status = queues.job("grown")["status"]
    queues.report.expect(status["trainerReplicas"] == 4, "grown: trainerReplicas is 4", status)


def _give_trainers_back(queues):
    """A job that runs gets fewer trainers, and keeps its quota for them: another job has the rest."""
    def trainers_of(part):
        return next((one["count"] for one in part or () if one["name"] == "trainers"), 0)

    def restarted():
        status = queues.job("shrunk")["status"]
        return status["incarnation"] == 2 and status["phase"] == "Training"
    queues.create("shrunk", trainers=4, ends=(NEVER, NEVER, NEVER))
    queues.await_phase("shrunk", "Training")
    uid = queues.workload("shrunk")["metadata"]["uid"]
    queues.create("heir", lasts="3s")
    queues.await_waiting("heir")
    queues.api.patch("DistTraining", NAMESPACE, "shrunk", {"spec": {"trainers": {"replicas": 1}}})
    queues.kill_operator()
    queues.expect_soon(restarted, "shrunk: restarted as its second incarnation", "shrunk")
    queues.report.expect(len(queues.pods("shrunk", "trainer")) == 1, "shrunk: one trainer", queues.job("shrunk")["status"])
    queues.expect_soon(lambda: trainers_of(queues.workload("shrunk")["status"].get("reclaimablePods")) == 3,
                       "shrunk: the quota of three trainers is given back", "shrunk")
    queues.await_phase("heir", "Succeeded", "heir: has that quota, Succeeded")
    queues.report.expect(queues.workload("shrunk")["metadata"].get("uid") == uid and queues.is_true("shrunk", "Admitted"),
                         "shrunk: its Workload is still admitted", queues.workload("shrunk")["status"])
    queues.api.patch("Workload", NAMESPACE, "shrunk-workload", {"spec": {"active": False}})
    queues.await_phase("shrunk", "Suspended")
    queues.expect_soon(lambda: trainers_of(queues.workload("shrunk")["spec"]["podSets"]) == 1,
                       "shrunk: evicted, its Workload asks for one trainer", "shrunk")
    queues.api.patch("Workload", NAMESPACE, "shrunk-workload", {"spec": {"active": True}})
    queues.await_phase("shrunk", "Training", "shrunk: active again, Training")
    queues.api.patch("DistTraining", NAMESPACE, "shrunk", {"spec": {"trainers": {"replicas": 2}}})
    queues.await_phase("shrunk", "Succeeded", "shrunk: admitted with two trainers, Succeeded")
    status = queues.job("shrunk")["status"]
    queues.report.expect((status["incarnation"], status["trainerReplicas"]) == (4, 2),
                         "shrunk: four incarnations, the last one with two trainers", status)


def _leave_and_enter(queues):
    """Removes the label of the queue from a waiting job, and adds it to a running one."""
    queues.create("holder", trainers=4, ends=(NEVER,))
    queues.await_phase("holder", "Training")
    queues.create("leaver")
    queues.await_waiting("leaver")
    queues.api.patch("DistTraining", NAMESPACE, "leaver", {"metadata": {"labels": {QUEUE_LABEL: None}}})
    queues.await_phase("leaver", "Succeeded", "leaver: without the label, Succeeded")
    queues.report.expect(not queues.workload("leaver")["metadata"], "leaver: its Workload is deleted")
    document = queued(ENTRANT, ends=(NEVER,))
    del document["metadata"]["labels"]
    queues.api.create(document, NAMESPACE)
    queues.await_phase(ENTRANT, "Training")
    queues.api.patch("DistTraining", NAMESPACE, ENTRANT, {"metadata": {"labels": {QUEUE_LABEL: "spot"}}})
    queues.await_waiting(ENTRANT)
    queues.api.delete("DistTraining", NAMESPACE, "holder")
    queues.await_phase(ENTRANT, "Succeeded", "entrant: admitted, Succeeded")


def _restart_trainers(queues):
    """Trainers fail and start again: the Workload keeps its quota, and PodsReady follows."""
    queues.create("failing", ends=(75, 70), lasts="3s", run_policy={"backoffLimit": 3})
    reasons = set()
    def has_succeeded():
        reasons.add(queues.workload_condition("failing", "PodsReady").get("reason"))
        return phase(queues.job("failing")) == "Succeeded"
    queues.expect_soon(has_succeeded, "failing: Succeeded in the third incarnation", "failing")
    status = queues.job("failing")["status"]
    queues.report.expect(status["incarnation"] == 3, "failing: three incarnations", status)
    queues.report.row("failing: reasons of PodsReady", ", ".join(sorted(map(str, reasons))))
    queues.report.expect(queues.workload_condition("failing", "PodsReady").get("reason") == "Recovered",
                         "failing: PodsReady has the reason Recovered", queues.workload("failing")["status"])


def _restart_kueue(queues, kueue):
    queues.create("steady", ends=(NEVER,), priority="batch", trainers=4)
    queues.await_phase("steady", "Training")
    kueue.restart()
    queues.report.expect(phase(queues.job("steady")) == "Training", "steady: Training while Kueue restarts")
    queues.create("urgent", priority="urgent", lasts="2s")
    queues.await_phase("urgent", "Succeeded", "urgent: preempts steady, Succeeded")
    queues.await_phase("steady", "Succeeded", "steady: admitted again, Succeeded")


def _delete(queues):
    queues.create("deleted", trainers=4, ends=(NEVER,))
    queues.await_phase("deleted", "Training")
    queues.create("after")
    queues.await_waiting("after")
    queues.api.delete("DistTraining", NAMESPACE, "deleted")
    # The garbage collector reads new kinds of objects every 30 s.
    queues.expect_soon(lambda: not queues.workload("deleted")["metadata"], "deleted: its Workload is deleted", "after", 90)
    queues.await_phase("after", "Succeeded", "after: has the quota of the deleted job, Succeeded")


def _check_pods(report, plane, usage):
    pool = {node["metadata"]["name"] for node in plane.api.list("Node", None, "e2e.espalier.io/pool=spot")}
    # Excluded, because they use other flavors or run without a queue at times: the job "partial", the job in a rack, and the
    # jobs that leave or enter a queue.
    spot = [pod for pod in usage.pods.values() if label(pod, LABEL) not in ("partial", "leaver", RACKED, ENTRANT)]
    report.row("pods seen, in the flavor spot", f"{len(usage.pods)}, {len(spot)}")
    roles = {label(pod, COMPONENT) for pod in spot}
    report.expect(roles == {"partitioner", "server", "trainer"}, "pods of all roles were seen", roles)
    wrong = [f"{pod['metadata']['name']}: {pod['spec'].get('nodeSelector')}, {pod['spec'].get('tolerations')}" for pod in spot
             if not POOL.items() <= pod["spec"].get("nodeSelector", {}).items() or
             TOLERATION not in pod["spec"].get("tolerations", [])]
    report.expect_none(wrong, "each has the node labels and the toleration of the flavor")
    elsewhere = [f"{pod['metadata']['name']} on {pod['spec'].get('nodeName')}" for pod in spot
                 if pod["spec"].get("nodeName", next(iter(pool))) not in pool]
    report.expect_none(elsewhere, "the scheduler put them on the nodes of the flavor")
    gated = [pod["metadata"]["name"] for pod in usage.pods.values()
             if pod["spec"].get("schedulingGates") and label(pod, LABEL) != RACKED]
    report.expect_none(gated, "Kueue's webhooks gated none of them")


def run(plane, _):
    report = Report("queues", "DistTrainings in queues of Kueue")
    user = plane.take_user()
    plane.make_namespace(NAMESPACE, {"pod-security.kubernetes.io/enforce": "restricted"})
    with Kueue(plane) as kueue:
        allow_in(plane, user, NAMESPACE)
        allow_queues_in(plane, user, NAMESPACE)
        _make_racks(plane, kueue)
        make_queues(plane, kueue, NAMESPACE, QUOTA_MILLICORES)
        audit = AuditLog(plane.audit_log, [user])
        history = History(plane, [NAMESPACE])
        usage = QuotaUsage(plane.api, NAMESPACE, QUOTA_MILLICORES, uncounted=(ENTRANT,))
        with Operator(plane, user, namespace=NAMESPACE, flags=["--kueue"]) as operator:
            operator.await_words("reconciling")
            queues = Queues(plane, operator, report)
            for act in (_wait_for_quota, _preempt, _admit_partially, _place_in_a_rack, _deactivate, _exceed_time, _suspend,
                        _lose_the_workload, _scale, _give_trainers_back, _leave_and_enter, _restart_trainers, _delete):
                act(queues)
            _restart_kueue(queues, kueue)
            owners = {owner["kind"] for one in plane.api.list("Workload") for owner in one["metadata"]["ownerReferences"]}
            report.expect(owners == {"DistTraining"}, "Kueue made no Workloads for the jobs' children", owners)
            report.expect_none(delete_all(plane, NAMESPACE), "nothing is left of deleted jobs")
        usage.stop()
        history.stop()
        usage.report_to(report)
        _check_pods(report, plane, usage)
        report.expect_none(history.gaps, "every object that came and went was seen")
        report.expect_none(history.made_twice(), "no child was made twice")
        report.expect_none(history.overlaps, "no two incarnations ran at the same time")
        report.expect_none(audit.forbidden(), "nothing was asked for that the Roles do not allow")
    return report.end()
