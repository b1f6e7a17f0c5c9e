"""Operators with a lease: one leads, another takes over, and two never write at the same time."""

import collections
import signal
import time

from .audit import AuditLog
from .jobs import TERMINAL, phase, training
from .operator_process import Operator
from .permissions import allow_in
from .processes import wait_until
from .report import Report

NAMESPACE = "failover"
TAKES_OVER_SECONDS = 20
LEASE_LOST = 74  # docs/exit-codes.md


class Work:
    """Creates jobs continuously, so that the leader always has something to write."""

    def __init__(self, plane):
        self.plane = plane
        self.made = 0

    def make(self, count):
        for _ in range(count):
            self.plane.api.create(training(f"job-{self.made:03d}", trainers=1, partitions=1, lasts="1s"), NAMESPACE)
            self.made += 1

    def all_have_ended(self):
        return all(phase(job) in TERMINAL for job in self.plane.api.list("DistTraining", NAMESPACE))


def _writes(audit):
    """Returns the writes to jobs and their children, without those to the lease, which all operators write."""
    return [request for request in audit.requests() if request.is_write and request.resource != "leases"]


def _take_over(report, work, audit, successor, what, act):
    """`act` stops the leader while it has work. Reports the seconds until the successor writes."""
    work.make(6)
    before = len(_writes(audit))
    wait_until(lambda: len(_writes(audit)) > before + 10, 30, "the leader is at work")
    silenced_at = time.time()
    act()
    def has_written():
        return next((write for write in _writes(audit) if write.user == successor), None)
    first = wait_until(has_written, 60, f"{successor} writes")
    seconds = first.time - silenced_at
    report.row(f"seconds from {what} to the successor's first write", seconds)
    report.expect(seconds <= TAKES_OVER_SECONDS, f"{what}: the other takes over within {TAKES_OVER_SECONDS} s")


def _finish(report, plane, work, leader):
    """The last operator leads until all jobs end. If it loses its lease on a slow machine, it is started again."""
    starts = 1
    deadline = time.monotonic() + 120
    while not work.all_have_ended() and time.monotonic() < deadline:
        if not leader.process.is_running():
            report.expect(leader.process.wait(1) == LEASE_LOST, "it ended because its lease was lost")
            starts += 1
            leader.start()
        time.sleep(0.2)
    report.row("starts of the last one", starts)
    phases = collections.Counter(phase(job) for job in plane.api.list("DistTraining", NAMESPACE))
    report.expect(set(phases) == {"Succeeded"}, f"all {work.made} jobs have succeeded", dict(phases))


def _interleaved(writes):
    """Returns the writes of operators after a later operator had already written."""
    over, last, found = set(), None, []
    for write in writes:
        if write.user in over:
            found.append(write)
        elif write.user != last:
            over.add(last)
            last = write.user
    return found


def run(plane, _):
    report = Report("failover", "a leader is killed, the next is stopped for a while")
    users = first, second, third = [plane.take_user() for _ in range(3)]
    plane.make_namespace(NAMESPACE)
    for user in users:
        allow_in(plane, user, NAMESPACE)
    audit = AuditLog(plane.audit_log, users)
    work = Work(plane)
    with Operator(plane, first, namespace=NAMESPACE, elects=True) as one:
        one.await_words("reconciling")
        with Operator(plane, second, namespace=NAMESPACE, elects=True) as two:
            two.await_words("waiting for the lease")
            _take_over(report, work, audit, second, "SIGKILL", one.process.kill)
            with Operator(plane, third, namespace=NAMESPACE, elects=True) as three:
                three.await_words("waiting for the lease")
                _take_over(report, work, audit, third, "SIGSTOP", lambda: two.process.signal(signal.SIGSTOP))
                continued_at = time.monotonic()
                two.process.signal(signal.SIGCONT)
                code = two.process.wait(20)
                report.row("seconds from SIGCONT to its end", time.monotonic() - continued_at)
                report.expect(code == LEASE_LOST, f"the one that was stopped ends by itself, with {LEASE_LOST}",
                              f"with {code}")
                work.make(2)
                _finish(report, plane, work, three)
    writes = _writes(audit)
    report.row("writes of the three", ", ".join(str(sum(write.user == user for write in writes)) for user in users))
    report.expect_none(_interleaved(writes), "never two writers: no operator wrote after its successor had begun")
    report.expect_none(audit.forbidden(), "nothing was asked for that the Role does not allow")
    return report.end()
