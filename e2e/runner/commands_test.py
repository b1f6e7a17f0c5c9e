"""Polling ends at its own deadline, and at that of the scenario."""

import math
import types
import unittest
from unittest import mock

from runner import commands
from runner.commands import Failure, end_waits_at, wait_for


class WaitForTest(unittest.TestCase):
    def setUp(self):
        self.now = 0.0
        clock = types.SimpleNamespace(monotonic=lambda: self.now, sleep=self.sleep)
        patch = mock.patch.object(commands, "time", clock)
        patch.start()
        self.addCleanup(patch.stop)
        self.addCleanup(end_waits_at, math.inf)

    def sleep(self, seconds):
        self.now += seconds

    def test_the_observed_value_is_returned(self):
        self.assertEqual(wait_for("a minute", 90, lambda: "it" if self.now >= 60 else None), "it")
        self.assertLess(self.now, 62)

    def test_a_long_wait_polls_less_often(self):
        looks = []
        wait_for("a minute", 90, lambda: looks.append(self.now) or self.now >= 60)
        pauses = [round(later - sooner, 6) for sooner, later in zip(looks, looks[1:])]
        self.assertEqual(pauses, sorted(pauses))
        self.assertEqual((pauses[0], pauses[-1]), (0.25, 0.5))

    def test_the_error_has_its_deadline(self):
        with self.assertRaisesRegex(Failure, "^nothing: not within 5 s; so it is$"):
            wait_for("nothing", 5, lambda: False, lambda: "so it is")
        self.assertLess(self.now, 6)

    def test_no_wait_outlives_the_scenario(self):
        end_waits_at(8)
        with self.assertRaisesRegex(Failure, "^nothing: not before the scenario's time was over$"):
            wait_for("nothing", 60, lambda: False)
        self.assertLess(self.now, 9)


if __name__ == "__main__":
    unittest.main()
