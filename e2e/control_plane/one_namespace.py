"""An operator that may do what the Role says in one namespace, and nothing elsewhere."""

import time

from . import mixture
from .api_server import OPERATORS
from .audit import AuditLog
from .children import await_right_children
from .jobs import phase
from .operator_process import Operator
from .permissions import allow_in
from .processes import wait_until
from .report import Report

NAMESPACE = "its-own"
ELSEWHERE = "elsewhere"
JOBS = ("plain-0", "bug-0", "sampled-0")


def run(plane, _):
    report = Report("one_namespace: the Role in one namespace")
    user = OPERATORS[0]
    for namespace in (NAMESPACE, ELSEWHERE):
        plane.make_namespace(namespace, {"pod-security.kubernetes.io/enforce": "restricted"})
    allow_in(plane, user, NAMESPACE)
    audit = AuditLog(plane.audit_log)
    mine = [one for one in mixture.documents(len(mixture.LIVES)) if one["metadata"]["name"] in JOBS]
    with Operator(plane, user, namespace=NAMESPACE, elects=True) as operator:
        operator.await_words("reconciling")
        for document in mine:
            plane.api.create(document, NAMESPACE)
            plane.api.create(document, ELSEWHERE)
        def all_have_succeeded():
            return all(phase(job) == "Succeeded" for job in plane.api.list("DistTraining", NAMESPACE))
        try:
            wait_until(all_have_succeeded, 90, "all jobs have succeeded")
        except TimeoutError:
            pass
        phases = {job["metadata"]["name"]: phase(job) for job in plane.api.list("DistTraining", NAMESPACE)}
        report.expect(set(phases.values()) == {"Succeeded"}, f"all {len(mine)} jobs have succeeded", phases)
        report.expect_none(await_right_children(plane, NAMESPACE, 30), "children as they should be, no orphans")
        # What expires is deleted by the operator itself, which the Role names on purpose.
        one = mine[0]["metadata"]["name"]
        plane.api.patch("DistTraining", NAMESPACE, one, {"spec": {"runPolicy": {"ttlSecondsAfterFinished": 1}}})
        began = time.monotonic()
        try:
            wait_until(lambda: plane.api.get("DistTraining", NAMESPACE, one) is None, 30, "the resource is deleted")
        except TimeoutError as error:
            report.expect(False, str(error))
        report.row("seconds until an expired job was deleted", time.monotonic() - began)
    strangers = [job["metadata"]["name"] for job in plane.api.list("DistTraining", ELSEWHERE) if job.get("status")]
    report.expect_none(strangers, "jobs of another namespace are left alone")
    report.expect_none(audit.forbidden(), "nothing was asked for that the Role does not allow")
    return report.end()
