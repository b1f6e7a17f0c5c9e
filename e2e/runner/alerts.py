"""Alerts of the cluster's Prometheus, by the rules in which an hour is shortened to two minutes
(observability/shortened.py)."""

import time

from observability.shortened import LABEL, VALUE
from runner.commands import Failure, wait_for

QUIET_SECONDS = 30  # from the end of an alert's cause until the end of the alert


class Alerts:
    """The alerts that have fired in a scenario."""

    def __init__(self, prometheus, note):
        self._prometheus = prometheus
        self._fired = set()
        self.note = note

    def rules(self):
        """Returns {name: seconds that the alert is pending before it fires} for all rules."""
        found = {rule["name"]: rule["duration"] for rule in self._prometheus.alerting_rules()
                 if rule["labels"].get(LABEL) == VALUE}
        if not found:
            raise Failure(f"Prometheus has no rules with {LABEL}={VALUE}: was the cluster made by another version?")
        return found

    def expect(self, name, **labels):
        """Waits until the alert is inactive for these labels, and returns it as Expected. Call it before the cause."""
        wait_for(f"the end of {name} for {labels}, which has no cause", QUIET_SECONDS,
                 lambda: not self.states(name, labels), self.active)
        return Expected(self, name, labels)

    def has_fired(self, name):
        self._fired.add(name)

    def check_all_have_fired(self, but_for=()):
        """`but_for`: names of alerts that no fault of a cluster causes."""
        missing = set(self.rules()) - self._fired - set(but_for)
        if missing:
            raise Failure(f"the scenario has no cause for {', '.join(sorted(missing))}")

    def states(self, name, labels, since=None):
        """Returns the states of an alert, a subset of {"pending", "firing"}: the current ones, or all since `since`
        (time.monotonic())."""
        series = self._series(name, labels)
        if since is not None:
            series = f"max_over_time({series}[{max(1, int(time.monotonic() - since))}s])"
        return {one["alertstate"] for one, _ in self._prometheus.now(series)}

    def seconds_until_firing(self, name, labels, since):
        """Returns the seconds from `since` (time.monotonic()) until the alert fired first. It must have fired."""
        passed = time.monotonic() - since
        firing = self._series(name, {**labels, "alertstate": "firing"})
        # In steps of one second: if the last step does not show the alert yet, it started to fire now.
        first = f"min(min_over_time(timestamp({firing})[{int(passed) + 1}s:1s])) or vector(time())"
        [(_, ago)] = self._prometheus.now(f"time() - ({first})")
        return passed - ago

    @staticmethod
    def _series(name, labels):
        matchers = {"alertname": name, LABEL: VALUE, **labels}
        return "ALERTS{" + ",".join(f'{label}="{value}"' for label, value in matchers.items()) + "}"

    def active(self):
        """Describes the active alerts, for messages of failures."""
        found = self._prometheus.now(f'ALERTS{{{LABEL}="{VALUE}"}}')
        words = sorted(f"{one['alertname']} {one['alertstate']} "
                       f"{one.get('job_name') or one.get('espalier_io_job') or one.get('pod', '')}".strip()
                       for one, _ in found)
        return "active: " + ("; ".join(words) or "none")


class Expected:
    """An alert that is expected to fire from now on. It may have ended again when has_fired is called."""

    def __init__(self, alerts, name, labels):
        self._alerts = alerts
        self._name = name
        self._labels = labels
        self._since = time.monotonic()

    def has_fired(self):
        return "firing" in self._alerts.states(self._name, self._labels, self._since)

    def wait(self, seconds, prod=None):
        """Waits until the alert has fired. Calls `prod` before each poll, to continue the cause of the alert."""
        def look():
            if prod:
                prod()
            return self.has_fired()

        wait_for(f"{self._name} for {self._labels}", seconds, look, self._alerts.active)
        pending_seconds = self._alerts.rules()[self._name]
        seen = self._alerts.states(self._name, self._labels, self._since)
        if pending_seconds > 0 and "pending" not in seen:
            raise Failure(f"{self._name} fires and was never pending, although it waits for {pending_seconds} s")
        self._alerts.has_fired(self._name)
        seconds = self._alerts.seconds_until_firing(self._name, self._labels, self._since)
        self._alerts.note(f"fires: {self._name}, {seconds:.0f} s after its cause")
