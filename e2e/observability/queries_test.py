"""Tests the dashboards' queries with a leading and a standby operator, by promtool (ESPALIER_PROMETHEUS)."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

from observability.dashboards import dashboard

PROMTOOL = pathlib.Path(os.environ["ESPALIER_PROMETHEUS"]) / "promtool"
# Replica "a" leads for ten minutes with two keys in its queue. Then "b" leads, whose queue was not processed before.
LEADER_AND_STANDBY = {
    'workqueue_depth{name="disttraining", instance="a"}': "2x9 30x10",
    'workqueue_depth{name="disttraining", instance="b"}': "10+1x9 3x10",
    'workqueue_depth{name="of-somebody-else", instance="a"}': "70x20",
    'leader_election_master_status{name="espalier-operator", instance="a"}': "1x9 0x10",
    'leader_election_master_status{name="espalier-operator", instance="b"}': "0x9 1x10",
}
# A single operator without leader election has no such series.
ALONE = {'workqueue_depth{name="disttraining", instance="a"}': "4x20"}


class QueriesTest(unittest.TestCase):
    def expect(self, expression, series, samples):
        """`samples`: {time: value} of the only series that the expression returns."""
        tests = [{"expr": expression, "eval_time": time, "exp_samples": [{"labels": "{}", "value": value}]}
                 for time, value in samples.items()]
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "test.json"  # JSON is YAML
            file.write_text(json.dumps({"tests": [{
                "interval": "1m", "promql_expr_test": tests,
                "input_series": [{"series": name, "values": values} for name, values in series.items()]}]}))
            done = subprocess.run([PROMTOOL, "test", "rules", file], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, f"{expression}\n{done.stdout}{done.stderr}")

    def test_the_queue_is_that_of_the_leader(self):
        queries = {f"{panel.title}/{query.legend}": query.expression for panel in dashboard("fleet").panels
                   for query in panel.queries if "workqueue_depth" in query.expression}
        self.assertEqual(set(queries), {"Keys that wait/waiting", "Queue depth/waiting"})
        for name, expression in queries.items():
            with self.subTest(name):
                self.expect(expression, LEADER_AND_STANDBY, {"5m": 2, "15m": 3})
                self.expect(expression, ALONE, {"5m": 4})


if __name__ == "__main__":
    unittest.main()
