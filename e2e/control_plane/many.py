"""Many jobs at once: all run, their children are right; reports memory and requests per job."""

import collections
import time

from .audit import AuditLog
from .children import await_right_children, create_all, delete_all
from .jobs import TERMINAL, phase, training
from .operator_process import Operator
from .permissions import allow_in
from .processes import wait_until
from .report import Report

NAMESPACE = "many"
POLICIES = ("Running", "All", "None")


def documents(count):
    """Returns the jobs: the cleanPodPolicies in turn, every fourth job with a sampler."""
    return [training(f"job-{i:03d}", samplers=1 if i % 4 == 3 else 0, lasts="2s",
                     run_policy={"cleanPodPolicy": POLICIES[i % len(POLICIES)]}) for i in range(count)]


def run(plane, options):
    count = options.jobs or (10 if options.short else 200)
    report = Report("many", f"{count} DistTrainings at once on {plane.num_nodes} nodes")
    user = plane.take_user()
    # All pods of the operator must conform to the strictest Pod Security standard.
    plane.make_namespace(NAMESPACE, {"pod-security.kubernetes.io/enforce": "restricted"})
    allow_in(plane, user, NAMESPACE)
    with Operator(plane, user, namespace=NAMESPACE) as operator:
        operator.await_words("reconciling")
        idle_mib, _ = operator.memory_mib()
        audit = AuditLog(plane.audit_log, [user])
        began = time.monotonic()
        create_all(plane, NAMESPACE, documents(count))
        report.row("seconds until all had been created", time.monotonic() - began)

        def all_have_ended():
            return all(phase(job) in TERMINAL for job in plane.api.list("DistTraining", NAMESPACE))
        try:
            wait_until(all_have_ended, 60 + 3 * count, "all jobs have ended", every=0.5)
        except TimeoutError as error:
            report.expect(False, str(error))
        seconds = time.monotonic() - began
        phases = collections.Counter(phase(job) for job in plane.api.list("DistTraining", NAMESPACE))
        report.row("seconds until all had ended", seconds)
        report.row("jobs a minute", 60 * count / seconds)
        report.expect(phases == {"Succeeded": count}, f"all {count} have succeeded", dict(phases))
        report.expect_none(await_right_children(plane, NAMESPACE, 60),
                           "children: names, owners, labels, and what cleanPodPolicy leaves of them")
        _report_cost(report, operator, idle_mib, audit, count)
        report.expect_none(delete_all(plane, NAMESPACE), "nothing is left of deleted jobs")
        report.expect_none(audit.forbidden(), "nothing was asked for that the Role does not allow")
    return report.end()


def _report_cost(report, operator, idle_mib, audit, count):
    now, most = operator.memory_mib()
    report.row("operator's memory before, after and at the most (MiB)", f"{idle_mib:.1f}, {now:.1f}, {most:.1f}")
    for verb, number in sorted(audit.by_verb().items()):
        report.row(f"requests for each job: {verb}", number / count)
    report.row("requests for each job", sum(audit.by_verb().values()) / count)
    for (verb, resource), number in audit.by_verb_and_resource().most_common(8):
        report.row(f"  of them {verb} {resource}", number / count)
