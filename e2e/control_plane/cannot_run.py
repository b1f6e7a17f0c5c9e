"""Documents that the schema accepts and that cannot run: a condition reports it; the job continues without the cause."""

import dataclasses
import time
import typing

from .audit import AuditLog
from .jobs import phase, training
from .operator_process import Operator
from .permissions import allow_everywhere
from .report import Report

SAID_SECONDS = 10
RECOVERY_SECONDS = 90  # the Job controller creates pods again after increasing delays
NAME = "job"
KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
ENFORCE = "pod-security.kubernetes.io/enforce"


def _quota(hard):
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "small"}, "spec": {"hard": hard}}


def _secret(*keys):
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "keys"},
            "stringData": {key: "e2e" for key in keys}}


def _with_credentials():
    return training(NAME, storage={"s3": {"credentials": {"secretName": "keys"}}})


@dataclasses.dataclass
class Case:
    namespace: str
    document: dict
    reason: str  # of a condition that is False
    words: str  # a part of its message
    mend: typing.Callable  # (api, namespace): removes the cause
    labels: dict = dataclasses.field(default_factory=dict)
    before: dict = None  # an object that is created before the job
    began: float = 0  # start time of the current step
    said_after: float = None
    said: dict = None
    recovered_after: float = None


def _spec(changes):
    return lambda api, namespace: api.patch("DistTraining", namespace, NAME, {"spec": changes})


def _without_quota(api, namespace):
    api.delete("ResourceQuota", namespace, "small")


def _add_gpus(api, _):
    """Adds two GPUs to a node, as a device plugin does."""
    gpus = {"nvidia.com/gpu": "2"}
    api.patch_status("Node", None, api.list("Node")[0]["metadata"]["name"], {"capacity": gpus, "allocatable": gpus})


CASES = (
    lambda: Case("secret", _with_credentials(), "SecretMissing", "keys",
                 lambda api, namespace: api.create(_secret(*KEYS), namespace)),
    lambda: Case("half-a-secret", _with_credentials(), "SecretKeyMissing", "keys lacks " + KEYS[1],
                 lambda api, namespace: api.patch("Secret", namespace, "keys", {"stringData": {KEYS[1]: "e2e"}}),
                 before=_secret(KEYS[0])),
    lambda: Case("path", training(NAME, source="/data/cora"), "InvalidSpec", "spec.graph.source.uri",
                 _spec({"graph": {"source": {"uri": "s3://graphs/cora"}}})),
    # The schema limits characters, which are few enough; the bytes exceed the limit.
    lambda: Case("long-uri", training(NAME, output="s3://results/" + 300 * "é"), "InvalidSpec", "spec.output.uri",
                 _spec({"output": {"uri": "s3://results/e2e"}})),
    lambda: Case("pod-quota", training(NAME), "FailedCreate", "exceeded quota", _without_quota,
                 before=_quota({"pods": "0"})),
    lambda: Case("job-quota", training(NAME), "Refused", "exceeded quota", _without_quota,
                 before=_quota({"count/jobs.batch": "0"})),
    lambda: Case("security", training(NAME, partitioner_spec={"hostNetwork": True}), "FailedCreate", "PodSecurity",
                 lambda api, namespace: api.patch("Namespace", None, namespace,
                                                  {"metadata": {"labels": {ENFORCE: "privileged"}}}),
                 labels={ENFORCE: "restricted"}),
    lambda: Case("field", training(NAME, trainer_spec={"restartPolicies": "Never"}), "InvalidTemplate",
                 "spec.trainers.template.spec.restartPolicies",
                 _spec({"trainers": {"template": {"spec": {"restartPolicies": None}}}})),
    lambda: Case("gpus", training(NAME, gpus=1), "Unschedulable", "Insufficient nvidia.com/gpu", _add_gpus),
)


def _follow(api, cases, look, seconds):
    """Calls `look` with each case and its job until it has returned true for all, or the time is over."""
    began = time.monotonic()
    waiting = list(cases)
    while waiting and time.monotonic() - began < seconds:
        for case in list(waiting):
            job = api.get("DistTraining", case.namespace, NAME)
            if look(case, job):
                waiting.remove(case)
        time.sleep(0.1)


def _look_for_condition(case, job):
    for one in job.get("status", {}).get("conditions", []):
        if one["status"] == "False" and one["reason"] == case.reason and case.words in one["message"]:
            case.said, case.said_after = one, time.monotonic() - case.began
    return case.said


def _look_for_success(case, job):
    if phase(job) != "Succeeded":
        return False
    case.recovered_after = time.monotonic() - case.began
    return True


def run(plane, options):
    report = Report("cannot_run", "a condition with the reason, and recovery")
    user = plane.take_user()
    allow_everywhere(plane, user)
    audit = AuditLog(plane.audit_log, [user])
    cases = [make() for make in CASES]
    api = plane.api
    for case in cases:
        plane.make_namespace(case.namespace, case.labels)
        if case.before:
            api.create(case.before, case.namespace)
    with Operator(plane, user) as operator:
        operator.await_words("reconciling")
        for case in cases:
            case.began = time.monotonic()
            api.create(case.document, case.namespace)
        _follow(api, cases, _look_for_condition, SAID_SECONDS + 20)
        for case in cases:
            if case.said:
                report.row(f"{case.namespace}: {case.said['type']}={case.reason} after (s)", case.said_after)
                report.row("", case.said["message"][:140])
            report.expect(case.said and case.said_after <= SAID_SECONDS,
                          f"{case.namespace}: said within {SAID_SECONDS} s",
                          api.get("DistTraining", case.namespace, NAME).get("status"))
        for case in cases:
            case.began = time.monotonic()
            case.mend(api, case.namespace)
        _follow(api, cases, _look_for_success, RECOVERY_SECONDS)
        for case in cases:
            if case.recovered_after:
                report.row(f"{case.namespace}: from mended to Succeeded (s)", case.recovered_after)
            report.expect(case.recovered_after, f"{case.namespace}: goes on when the cause is gone",
                          api.get("DistTraining", case.namespace, NAME).get("status"))
    report.expect_none(audit.forbidden(), "nothing was asked for that the Role does not allow")
    return report.end()
