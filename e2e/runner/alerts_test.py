"""An alert counts for a cause only if it was inactive before the cause."""

import types
import unittest
from unittest import mock

from runner.alerts import Alerts
from runner.commands import Failure


def states(*names):
    return [({"alertname": "Slow", "alertstate": name}, 1.0) for name in names]


class FakePrometheus:
    """Returns one prepared response per query; repeats the last one."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.num_looks = 0

    def alerting_rules(self):
        return [{"name": "Slow", "duration": 10, "labels": {"hour": "2m"}}]

    def now(self, _):
        self.num_looks += 1
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


class AlertsTest(unittest.TestCase):
    def setUp(self):
        clock = types.SimpleNamespace(seconds=0.0)
        clock.monotonic = lambda: clock.seconds
        clock.sleep = lambda seconds: setattr(clock, "seconds", clock.seconds + seconds)
        for module in ("runner.alerts.time", "runner.commands.time"):
            patch = mock.patch(module, clock)
            patch.start()
            self.addCleanup(patch.stop)

    def test_pending_alerts_end_before_an_alert_is_expected(self):
        prometheus = FakePrometheus(states("firing"), states("pending"), [])
        Alerts(prometheus, note=None).expect("Slow", job_name="a")
        self.assertEqual(3, prometheus.num_looks)

    def test_an_alert_that_stays_pending_is_an_error(self):
        with self.assertRaisesRegex(Failure, "the end of Slow .*: not within .* active: Slow pending"):
            Alerts(FakePrometheus(states("pending")), note=None).expect("Slow")

    def test_an_alert_that_was_never_pending_is_an_error(self):
        prometheus = FakePrometheus([], states("firing"))
        expected = Alerts(prometheus, note=None).expect("Slow")
        with self.assertRaisesRegex(Failure, "Slow fires and was never pending, although it waits for 10 s"):
            expected.wait(60)


if __name__ == "__main__":
    unittest.main()
