"""The operator killed at random moments: every job ends as without kills, and no object is created twice."""

import collections
import random
import time

from .audit import AuditLog
from .children import await_right_children, create_all, delete_all
from .history import History
from .jobs import TERMINAL, phase
from .mixture import Outside, documents, outcome_of
from .operator_process import Operator
from .permissions import allow_in
from .report import Report
from .together import run_together

LONGEST_LIFE = 2.5  # maximum seconds between two kills: enough to fill its caches and write


class Killer:
    """An operator of one namespace that is killed after a random time and started again, `count` times. On exit the last
    one is ended."""

    def __init__(self, plane, user, namespace, count, seed):
        self.plane = plane
        self.user = user
        self.namespace = namespace
        self.count = count
        self.random = random.Random(seed)
        self.kills = 0
        self.operator = None
        self._start()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.operator.__exit__(*error)

    def look(self):
        if self.kills < self.count and time.monotonic() >= self.dies_at:
            self.operator.process.kill()
            self.kills += 1
            self._start()

    def _start(self):
        # Without leader election: the successor would wait for the lease of the killed operator and be killed while idle.
        self.operator = Operator(self.plane, self.user, namespace=self.namespace)
        self.dies_at = time.monotonic() + self.random.uniform(0.1, LONGEST_LIFE)


def _run_jobs(plane, namespace, all_documents, killer):
    """Runs the jobs to their ends. With kills, jobs are created over time, so that kills meet jobs in all states."""
    outside = Outside(plane.api, namespace)
    created = 0
    deadline = time.monotonic() + 180 + LONGEST_LIFE * killer.count
    while True:
        killer.look()
        due = len(all_documents) if killer.count == 0 else 1 + killer.kills * len(all_documents) // killer.count
        create_all(plane, namespace, all_documents[created:due])
        created = max(created, min(due, len(all_documents)))
        jobs = plane.api.list("DistTraining", namespace)
        outside.look(jobs)
        have_ended = len(jobs) == len(all_documents) and all(phase(job) in TERMINAL for job in jobs)
        if (have_ended and killer.kills == killer.count) or time.monotonic() > deadline:
            return {job["metadata"]["name"]: job for job in jobs}
        # A violation may last only a moment, so every poll checks for it.
        time.sleep(0.1)


def _world(plane, namespace, report, all_documents, killer, history):
    jobs = _run_jobs(plane, namespace, all_documents, killer)
    running = [f"{name}: {phase(job)}" for name, job in jobs.items() if phase(job) not in TERMINAL]
    report.expect(not running and len(jobs) == len(all_documents), f"{namespace}: all jobs have ended",
                  "\n".join(running))
    report.expect_none(await_right_children(plane, namespace, 60),
                       f"{namespace}: children as they should be, no orphans")
    trainer_jobs = {name: sum(1 for one in history.names("Job", namespace) if one.startswith(f"{name}-trainer-"))
                    for name in jobs}
    wrong = [f"{name}: {trainer_jobs[name]} trainer Jobs made, incarnation {job['status'].get('incarnation')}"
             for name, job in jobs.items() if trainer_jobs[name] != job["status"].get("incarnation", 0)]
    report.expect_none(wrong, f"{namespace}: one trainer Job for each incarnation")
    return {name: outcome_of(job) for name, job in jobs.items() if phase(job) in TERMINAL}


def run(plane, options):
    count = options.jobs or (6 if options.short else 50)
    kills = options.kills or (5 if options.short else 100)
    report = Report("kills", f"{kills} kills during {count} jobs, seed {options.seed}")
    users = {namespace: plane.take_user() for namespace in ("undisturbed", "disturbed")}
    for namespace, user in users.items():
        plane.make_namespace(namespace)
        allow_in(plane, user, namespace)
    audit = AuditLog(plane.audit_log, users.values())
    history = History(plane, users)
    all_documents = documents(count)
    outcomes = {}

    def live(namespace, number):
        began = time.monotonic()
        with Killer(plane, users[namespace], namespace, number, options.seed) as killer:
            outcomes[namespace] = _world(plane, namespace, report, all_documents, killer, history)
            report.row(f"seconds, {namespace}", time.monotonic() - began)
            report.row(f"operators killed, {namespace}", killer.kills)
            report.expect_none(delete_all(plane, namespace), f"{namespace}: nothing is left of deleted jobs")
    run_together([lambda: live("undisturbed", 0), lambda: live("disturbed", kills)])
    history.stop()
    phases = collections.Counter(outcome["phase"] for outcome in outcomes["disturbed"].values())
    report.row("ends", ", ".join(f"{number} {name}" for name, number in sorted(phases.items())))
    report.row("incarnations after the first",
               sum(max(0, outcome["incarnation"] - 1) for outcome in outcomes["disturbed"].values()))
    differences = [f"{name}: {outcomes['disturbed'].get(name)}, undisturbed {wanted}"
                   for name, wanted in outcomes["undisturbed"].items() if outcomes["disturbed"].get(name) != wanted]
    report.expect_none(differences, "every job ended as it does undisturbed: phase, attempts, incarnation, reasons")
    report.expect_none(history.gaps, "every object that came and went was seen")
    report.expect_none(history.made_twice(), "no child was made twice")
    report.expect_none(history.overlaps, "no two incarnations ran at the same time")
    report.expect_none(audit.forbidden(), "nothing was asked for that the Role does not allow")
    return report.end()
