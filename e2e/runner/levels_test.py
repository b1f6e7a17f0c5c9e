"""Scenarios that run one by one must not take longer in total than their level may."""

import contextlib
import io
import pathlib
import tempfile
import unittest

from runner import levels
from runner.rounds import Outcome


class LevelsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.reports = pathlib.Path(folder.name) / "reports"

    def main(self):
        """Returns (exit status, output)."""
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            return levels.main(self.reports), said.getvalue()

    def test_times_of_runs_are_added(self):
        levels.keep(self.reports, [Outcome("calm", 60.4, True)])
        levels.keep(self.reports, [Outcome("first", 89, False, {"to the accuracy": 48.5})])
        self.assertEqual(levels.kept(self.reports)[1], Outcome("first", 89, False, {"to the accuracy": 48.5}))
        self.assertEqual(self.main(), (0, "all scenarios together took 149 s of 900 s: calm, first\n"))

    def test_slow_scenarios_are_listed_longest_first(self):
        levels.keep(self.reports, [Outcome("calm", 60, True), Outcome("first", 841, True)])
        self.assertEqual(self.main(), (1, "!! all scenarios together took 901 s, expected at most 900 s: "
                                          "first 841 s, calm 60 s\n"))

    def test_a_repeated_scenario_counts_once(self):
        levels.keep(self.reports, [Outcome("calm", 800, False)])
        levels.keep(self.reports, [Outcome("calm", 700, True)])
        self.assertEqual(self.main(), (0, "all scenarios together took 700 s of 900 s: calm\n"))

    def test_without_runs_there_are_no_times(self):
        levels.forget(self.reports)
        self.assertEqual(self.main(), (1, "!! no scenario ran\n"))
        levels.keep(self.reports, [Outcome("calm", 60, True)])
        levels.forget(self.reports)
        self.assertEqual(self.main()[0], 1)


if __name__ == "__main__":
    unittest.main()
