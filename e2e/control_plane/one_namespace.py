"""An operator with the permissions of the Role in one namespace, and none in others."""

import time

from . import mixture
from .audit import AuditLog
from .children import await_right_children, delete_all
from .jobs import phase
from .operator_process import Operator
from .permissions import allow_in, allow_lease_in
from .processes import wait_until
from .report import Report

NAMESPACE = "its-own"
ELSEWHERE = "elsewhere"
JOBS = ("plain-0", "bug-0", "sampled-0")


def run(plane, _):
    report = Report("one_namespace", "the Role in one namespace")
    user = plane.take_user()
    for namespace in (NAMESPACE, ELSEWHERE):
        plane.make_namespace(namespace, {"pod-security.kubernetes.io/enforce": "restricted"})
    allow_in(plane, user, NAMESPACE)
    # Not in the operators' own namespace: another run's operator may hold the Lease there.
    allow_lease_in(plane, user, NAMESPACE)
    audit = AuditLog(plane.audit_log, [user])
    mine = [one for one in mixture.documents(len(mixture.LIVES)) if one["metadata"]["name"] in JOBS]
    lease = f"--lease-namespace={NAMESPACE}"
    with Operator(plane, user, namespace=NAMESPACE, elects=True, flags=[lease]) as operator:
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
        # The operator itself deletes expired jobs; the Role has a permission for it.
        one = mine[0]["metadata"]["name"]
        plane.api.patch("DistTraining", NAMESPACE, one, {"spec": {"runPolicy": {"ttlSecondsAfterFinished": 1}}})
        began = time.monotonic()
        try:
            wait_until(lambda: plane.api.get("DistTraining", NAMESPACE, one) is None, 30, "the resource is deleted")
        except TimeoutError as error:
            report.expect(False, str(error))
        report.row("seconds until an expired job was deleted", time.monotonic() - began)
    reconciled = [job["metadata"]["name"] for job in plane.api.list("DistTraining", ELSEWHERE) if job.get("status")]
    report.expect_none(reconciled, "jobs of another namespace are left alone")
    # These jobs would start as soon as another run starts an operator for all namespaces.
    delete_all(plane, ELSEWHERE)
    report.expect_none(audit.forbidden(), "nothing was asked for that the Role does not allow")
    return report.end()
