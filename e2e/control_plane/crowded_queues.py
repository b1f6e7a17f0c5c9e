"""Many DistTrainings in two queues of the real Kueue, while the operator and Kueue are killed: quota is never exceeded."""

import random
import time

from .audit import AuditLog
from .children import create_all, delete_all
from .history import History
from .jobs import TERMINAL, phase
from .kueue import Kueue
from .operator_process import Operator
from .permissions import allow_in, allow_queues_in
from .queued_jobs import QuotaUsage, make_queues, queued
from .report import Report

NAMESPACE = "crowded-queues"
# Millicores: about five jobs and three jobs at a time.
QUOTA_MILLICORES = {"spot": 2500, "small": 1500}
LONGEST_LIFE = 8.0  # maximum seconds between two kills of the operator
KILLS_FOR_EACH_OF_KUEUE = 4
SECONDS = 1200  # until all jobs have ended

# Arguments of queued(), in turn.
LIVES = (
    {"lasts": "4s"},
    {"lasts": "6s", "priority": "batch"},
    {"trainers": 4, "min_trainers": 2, "lasts": "3s", "priority": "batch"},
    {"ends": (75,), "lasts": "2s", "run_policy": {"backoffLimit": 3}},
    {"trainers": 1, "lasts": "2s", "priority": "urgent"},
    {"samplers": 1, "lasts": "3s"},
    {"partition_ends": (75,), "lasts": "2s", "run_policy": {"backoffLimit": 3}},
)


def _documents(count):
    """Every second job is in the other queue."""
    return [queued(f"job-{i:02d}", list(QUOTA_MILLICORES)[i % 2], **LIVES[i // 2 % len(LIVES)]) for i in range(count)]


def _run_jobs(plane, documents, kills, seed, operator, kueue):
    """Creates the jobs one after the other while it kills the operator `kills` times and sometimes Kueue. Returns the jobs."""
    moments = random.Random(seed)
    created, killed = 0, 0
    dies_at = time.monotonic() + moments.uniform(0.5, LONGEST_LIFE)
    deadline = time.monotonic() + SECONDS
    while True:
        due = min(len(documents), 10 + 2 * killed) if killed < kills else len(documents)
        create_all(plane, NAMESPACE, documents[created:due])
        created = max(created, due)
        if killed < kills and time.monotonic() >= dies_at:
            operator.process.kill()
            killed += 1
            if killed % KILLS_FOR_EACH_OF_KUEUE == 0:
                kueue.restart()  # while there is no operator
            operator.start()
            dies_at = time.monotonic() + moments.uniform(0.5, LONGEST_LIFE)
        jobs = plane.api.list("DistTraining", NAMESPACE)
        have_ended = len(jobs) == len(documents) and all(phase(job) in TERMINAL for job in jobs)
        if have_ended or time.monotonic() > deadline:
            return jobs, killed
        time.sleep(0.1)  # so that kills happen at all stages of the jobs


def run(plane, options):
    count = options.jobs or 50
    kills = options.kills or 20
    report = Report("crowded_queues", f"{count} jobs in two queues, at most {kills} kills of the operator, seed {options.seed}")
    user = plane.take_user()
    plane.make_namespace(NAMESPACE)
    with Kueue(plane) as kueue:
        allow_in(plane, user, NAMESPACE)
        allow_queues_in(plane, user, NAMESPACE)
        make_queues(plane, kueue, NAMESPACE, QUOTA_MILLICORES)
        audit = AuditLog(plane.audit_log, [user])
        history = History(plane, [NAMESPACE])
        usage = QuotaUsage(plane.api, NAMESPACE, QUOTA_MILLICORES)
        with Operator(plane, user, namespace=NAMESPACE, flags=["--kueue"]) as operator:
            jobs, killed = _run_jobs(plane, _documents(count), kills, options.seed, operator, kueue)
            unfinished = [f"{job['metadata']['name']}: {job.get('status')}" for job in jobs if phase(job) != "Succeeded"]
            report.expect(len(jobs) == count and not unfinished, "all jobs have succeeded", "\n".join(unfinished))
            report.row("operators killed, Kueue killed", f"{killed}, {killed // KILLS_FOR_EACH_OF_KUEUE}")
            report.row("incarnations after the first", sum(job["status"]["incarnation"] - 1 for job in jobs
                                                           if job.get("status", {}).get("incarnation")))
            report.expect_none(delete_all(plane, NAMESPACE), "nothing is left of deleted jobs")
        usage.stop()
        history.stop()
        usage.report_to(report)
        report.expect_none(history.gaps, "every object that came and went was seen")
        report.expect_none(history.made_twice(), "no child was made twice")
        report.expect_none(history.overlaps, "no two incarnations ran at the same time")
        report.expect_none(audit.forbidden(), "nothing was asked for that the Roles do not allow")
    return report.end()
