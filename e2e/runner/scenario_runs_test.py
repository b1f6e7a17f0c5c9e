"""Scenarios run in rounds, until one fails."""

import math
import pathlib
import tempfile
import types
import unittest
from unittest import mock

from runner.commands import Failure
from runner.scenario_runs import run_rounds


class FakeWorld:
    """A fake world that records its calls."""

    def __init__(self):
        self.asked = []
        self.figures = {}
        self.namespace = types.SimpleNamespace(name="none")

    def begin_round(self):
        self.asked.append("round")

    def begin(self, scenario, seconds):
        self.figures = {}
        self.asked.append(f"{scenario} for {seconds} s")

    def check_time(self):
        pass

    def end(self):
        self.asked.append("end")

    def wait_until_gone(self):
        self.asked.append("gone")


def scenario(run_steps):
    return types.SimpleNamespace(__doc__="A scenario.\n\nAnd more of it.", SECONDS=60, run_steps=run_steps)


def measures(world):
    world.figures["a part"] = 1.5


class ScenarioRunsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.reports = pathlib.Path(folder.name)
        self.said = self.start(mock.patch("runner.scenario_runs.say"))
        self.written = self.start(mock.patch("runner.scenario_runs.report.write"))
        self.seconds = 0.0
        self.start(mock.patch("runner.scenario_runs.time", types.SimpleNamespace(monotonic=lambda: self.seconds)))
        self.world = FakeWorld()
        self.rounds = []

    def start(self, patch):
        self.addCleanup(patch.stop)
        return patch.start()

    def run_scenarios(self, times, max_seconds=math.inf, **steps):
        scenarios = {name: scenario(run_steps) for name, run_steps in steps.items()}
        return run_rounds(scenarios, self.world, self.reports, times, self.rounds, max_seconds)

    def passed(self):
        return [[(outcome.scenario, outcome.passed) for outcome in round_] for round_ in self.rounds]

    def test_each_round_ends_after_its_objects_are_deleted(self):
        self.assertTrue(self.run_scenarios(2, a=measures, b=lambda world: None))
        self.assertEqual(self.passed(), [[("a", True), ("b", True)]] * 2)
        self.assertEqual(self.world.asked, ["round", "a for 60 s", "end", "b for 60 s", "end", "gone"] * 2)
        self.assertEqual([outcome.figures for outcome in self.rounds[0]], [{"a part": 1.5}, {}])
        self.written.assert_not_called()

    def test_a_failed_round_completes_and_is_the_last(self):
        def fails_at_last(world):
            if world.asked.count("round") == 2:
                raise Failure("too late")

        self.assertFalse(self.run_scenarios(5, a=fails_at_last, b=measures))
        self.assertEqual(self.passed(), [[("a", True), ("b", True)], [("a", False), ("b", True)]])
        self.assertEqual(self.world.asked.count("end"), 4)
        self.written.assert_called_once_with(self.reports / "a", "none")
        self.assertTrue(any("too late" in call.args[0] for call in self.said.call_args_list))

    def test_cleanup_errors_do_not_hide_the_failure(self):
        def fails_twice(world):
            try:
                raise Failure("not upgraded")
            finally:
                raise Failure("not rolled back")

        self.assertFalse(self.run_scenarios(1, a=fails_twice))
        self.assertTrue(any("not upgraded\nand then: not rolled back" in call.args[0]
                            for call in self.said.call_args_list), self.said.call_args_list)

    def test_a_slow_round_is_the_last_and_reports_its_times(self):
        def takes(seconds):
            def run_steps(_):
                self.seconds += seconds
            return run_steps

        self.assertFalse(self.run_scenarios(3, max_seconds=100, short=takes(20), long=takes(90)))
        self.assertEqual(self.passed(), [[("short", True), ("long", True)]])
        self.assertEqual(self.said.call_args.args[0],
                         "!! all scenarios together took 110 s, expected at most 100 s: long 90 s, short 20 s")

    def test_an_interruption_keeps_the_results_so_far(self):
        def interrupted(world):
            raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            self.run_scenarios(3, a=measures, b=interrupted)
        self.assertEqual(self.passed(), [[("a", True)]])
        self.assertEqual(self.world.asked, ["round", "a for 60 s", "end", "b for 60 s", "end"])

    def test_reports_of_earlier_runs_are_removed(self):
        (self.reports / "a").mkdir()
        (self.reports / "other").mkdir()
        self.run_scenarios(1, a=measures)
        self.assertEqual([path.name for path in self.reports.iterdir()], ["other"])


if __name__ == "__main__":
    unittest.main()
