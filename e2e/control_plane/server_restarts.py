"""The API server is killed, etcd is compacted, or connections stop carrying data: the same operator process detects the
changes made meanwhile."""

import time

from .audit import AuditLog
from .children import await_right_children
from .jobs import phase, training
from .operator_process import Operator
from .permissions import allow_everywhere
from .processes import wait_until
from .report import Report
from .silent_proxy import SilentProxy

NAMESPACE = "restarts"
SEEN_AGAIN_SECONDS = 90
NEVER = "never"


class Scene:
    """Running jobs, and one that is created while the operator has no connection."""

    def __init__(self, plane, report, operator, name):
        self.plane = plane
        self.report = report
        self.operator = operator
        self.name = name
        # Two that train until they are stopped, two that have just started.
        self.training = [f"{name}-training-{i}" for i in range(2)]
        self.young = [f"{name}-young-{i}" for i in range(2)]
        for one in self.training:
            self._create(one, ends=(NEVER,))
        wait_until(lambda: all(self._phase(one) == "Training" for one in self.training), 90, "jobs are training")
        for one in self.young:
            self._create(one, lasts="1s")

    def act(self):
        """Makes the changes that the operator must detect: a new job, a changed one, a deleted child."""
        self._create(f"{self.name}-new", lasts="1s")
        self.plane.api.patch("DistTraining", NAMESPACE, self.training[0], {"spec": {"trainers": {"replicas": 3}}})
        self.plane.api.delete("Job", NAMESPACE, f"{self.training[1]}-trainer-1")

    def check(self, since, what):
        """Expects that all changes are detected in time and then handled. `since`: the time from which they were visible."""
        api = self.plane.api
        def seen():
            return (self._phase(f"{self.name}-new") not in ("", "Pending") and
                    all(api.get("DistTraining", NAMESPACE, one)["status"]["incarnation"] == 2 for one in self.training))
        try:
            wait_until(seen, SEEN_AGAIN_SECONDS + 10, "events are seen again")
            seconds = time.monotonic() - since
        except TimeoutError as error:
            self.report.expect(False, f"{what}: {error}")
            return
        self.report.row(f"{what}: seconds until all events were seen", seconds)
        self.report.expect(seconds <= SEEN_AGAIN_SECONDS, f"{what}: events are seen within {SEEN_AGAIN_SECONDS} s")
        all_jobs = [*self.training, *self.young, f"{self.name}-new"]
        try:
            wait_until(lambda: all(self._phase(one) == "Succeeded" for one in all_jobs), 120, "all have succeeded")
        except TimeoutError:
            pass
        phases = {one: self._phase(one) for one in all_jobs}
        self.report.expect(set(phases.values()) == {"Succeeded"}, f"{what}: all jobs have succeeded", phases)
        self.report.expect(self.operator.process.is_running(), f"{what}: the operator is the same process")

    def _create(self, name, **arguments):
        self.plane.api.create(training(name, trainers=1, partitions=1, **arguments), NAMESPACE)

    def _phase(self, name):
        return phase(self.plane.api.get("DistTraining", NAMESPACE, name) or {})


def _restart(plane, report, operator, _):
    scene = Scene(plane, report, operator, "restart")
    unready = plane.restart_api_server()
    since = time.monotonic()
    scene.act()
    scene.check(since, "server restarted")
    return [unready]


def _forget(plane, report, operator, proxy):
    scene = Scene(plane, report, operator, "compaction")
    proxy.block()
    scene.act()
    revision = plane.compact_storage()
    # The server loses its cache of recent events with it, so the version at which the operator's watches continue is gone.
    unready = plane.restart_api_server()
    since = time.monotonic()
    proxy.unblock()
    scene.check(since, "history compacted")
    report.row("etcd's oldest revision", revision)
    expired = {line["resource"] for line in operator.lines() if "too old resource version" in line.get("error", "")}
    report.row("kinds whose watches had expired", ", ".join(sorted(expired)))
    report.expect(len(expired) >= 3, "history compacted: watches had to begin anew")
    return [unready]


def _fall_silent(plane, report, operator, proxy):
    scene = Scene(plane, report, operator, "silence")
    since = time.monotonic()
    silent = proxy.silence()
    report.row("connections that fell silent", silent)
    scene.act()
    scene.check(since, "connections silent")
    # Each watch has a connection of its own. If they carried data, the operator would detect all changes at once.
    report.expect(silent >= 3, "connections silent: the operator's watches among them")
    report.expect(proxy.swallowed() >= 1, "connections silent: what was sent over them was lost")
    return []


def run(plane, options):
    report = Report("server_restarts", "the API server restarted, etcd compacted, connections silent")
    user = plane.take_user()
    allow_everywhere(plane, user)
    plane.make_namespace(NAMESPACE)
    audit = AuditLog(plane.audit_log, [user])
    # The operator detects silent connections when a watch should have ended, 50 to 80 s after its beginning, which is
    # too long for the short form. This case comes first, because watches are new then.
    parts = (_restart, _forget) if options.short else (_fall_silent, _restart, _forget)
    with SilentProxy(plane.port) as proxy, Operator(plane, user, port=proxy.port) as operator:
        operator.await_words("reconciling")
        unready = [window for part in parts for window in part(plane, report, operator, proxy)]
        report.expect_none(await_right_children(plane, NAMESPACE, 60), "children as they should be, no orphans")
    report.expect_none(audit.forbidden(unready), "nothing was asked for that the Role does not allow")
    return report.end()
