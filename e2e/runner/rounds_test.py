"""Tables of the times of scenarios."""

import json
import unittest

from runner.rounds import Outcome, summary, table


class RoundsTest(unittest.TestCase):
    def test_the_table_has_a_line_for_each_scenario_and_figure(self):
        rounds = [[Outcome("calm", 61.24, True), Outcome("first", 90, True, {"to the accuracy": 48.5})],
                  [Outcome("calm", 59, True), Outcome("first", 100, True, {"to the accuracy": 52})]]
        self.assertEqual(table(rounds).splitlines(), [
            "seconds            round 1  round 2   min    max",
            "calm                  61.2     59.0  59.0   61.2",
            "first                 90.0    100.0  90.0  100.0",
            "  to the accuracy     48.5     52.0  48.5   52.0"])

    def test_failures_are_marked_and_excluded_from_minimum_and_maximum(self):
        rounds = [[Outcome("calm", 60, True, {"a part": 8})], [Outcome("calm", 2, False, {"a part": 1})]]
        self.assertEqual(table(rounds).splitlines(), ["seconds   round 1  round 2   min   max",
                                                      "calm         60.0     2.0!  60.0  60.0",
                                                      "  a part      8.0      1.0   8.0   8.0"])
        scenario = summary(rounds)["scenarios"][0]
        self.assertEqual((scenario["passed"], scenario["min"], scenario["max"]), ([True, False], 60, 60))

    def test_a_scenario_that_did_not_run_has_no_seconds(self):
        rounds = [[Outcome("a", 1, True), Outcome("b", 2, False)], [Outcome("a", 3, True)]]
        scenario = summary(rounds)["scenarios"][1]
        self.assertEqual(scenario, {"name": "b", "seconds": [2, None], "passed": [False, None],
                                    "min": None, "max": None, "figures": []})
        self.assertEqual(table(rounds).splitlines()[2].split(), ["b", "2.0!", "-", "-", "-"])

    def test_the_result_is_json_even_without_rounds(self):
        self.assertEqual(summary([]), {"rounds": 0, "scenarios": []})
        kept = summary([[Outcome("a", 1.5, True, {"half": 0.75})]])
        self.assertEqual(json.loads(json.dumps(kept)), kept)
        self.assertEqual(kept["scenarios"][0]["figures"],
                         [{"name": "half", "seconds": [0.75], "min": 0.75, "max": 0.75}])


if __name__ == "__main__":
    unittest.main()
