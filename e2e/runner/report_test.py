"""The report of a failed scenario."""

import json
import os
import pathlib
import tempfile
import unittest
from unittest import mock

from runner import report
from runner.chart import NAMESPACE
from runner.commands import Failure


class FakeCluster:
    """Returns a pod in each namespace, whose container has not been restarted."""

    def __init__(self):
        self.asked = []

    def attempt(self, command, timeout=60):
        self.asked.append(command)
        if "--previous" in command:
            return mock.Mock(returncode=1, stdout="", stderr="no former container")
        if command[1:3] == ["get", "pods"]:
            return mock.Mock(returncode=0, stdout=json.dumps({"items": [{"metadata": {"name": "a-pod"}}]}), stderr="")
        if command[1] == "logs":
            raise Failure("took longer than 30 s")
        return mock.Mock(returncode=0, stdout="seen", stderr="")


class ReportTest(unittest.TestCase):
    def test_the_report_has_objects_events_and_logs_of_scenario_and_operator(self):
        cluster = FakeCluster()
        environment = {name: value for name, value in os.environ.items() if name != "ESPALIER_E2E_CLUSTER"}
        with tempfile.TemporaryDirectory() as temporary, mock.patch("runner.report.attempt", cluster.attempt), \
                mock.patch.dict(os.environ, environment, clear=True):
            folder = pathlib.Path(temporary) / "scenario"
            report.write(folder, "e2e-scenario")
            found = {path.name: path.read_text() for path in folder.iterdir()}
        self.assertEqual(set(found), {"nodes.txt", *(
            f"{place}.{what}" for place in ("e2e-scenario", NAMESPACE)
            for what in ("objects.yaml", "podgroups.yaml", "events.txt", "describe.txt", "a-pod.log"))})
        self.assertEqual(found[f"{NAMESPACE}.objects.yaml"], "seen")
        # A part that cannot be read is replaced by the error; the other parts are complete.
        self.assertEqual(found["e2e-scenario.a-pod.log"], "took longer than 30 s\n")
        # The reason of a refused pod is an event of its controller.
        kinds = next(command[2] for command in cluster.asked if command[1] == "get").split(",")
        self.assertLessEqual({"disttrainings", "pods", "deployments", "replicasets", "statefulsets", "jobs"}, set(kinds))


if __name__ == "__main__":
    unittest.main()
