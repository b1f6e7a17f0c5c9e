"""e2e/run does not change the cluster of another user. kubectl is a fake with prepared responses."""

import json
import unittest
from unittest import mock

from runner import chart
from runner.commands import Failure

OURS = {"meta.helm.sh/release-name": "espalier", "meta.helm.sh/release-namespace": "espalier-system"}


def job(namespace, name):
    return {"metadata": {"namespace": namespace, "name": name}}


class OthersTest(unittest.TestCase):
    def setUp(self):
        self.namespace, self.definition, self.jobs, self.scenario_namespaces = "", None, [], "e2e-1"
        self.deleted = []
        patch = mock.patch("runner.chart.run", self.answer)
        patch.start()
        self.addCleanup(patch.stop)

    def answer(self, command, **_):
        words = list(map(str, command))
        if words[1] == "delete":
            self.deleted.append(words[2])
        if words[:3] == ["kubectl", "get", "namespace"]:
            return self.namespace
        if words[:3] == ["kubectl", "get", "namespaces"]:
            return self.scenario_namespaces
        if words[:3] == ["kubectl", "get", "customresourcedefinition"]:
            return json.dumps({"metadata": {"annotations": self.definition}}) if self.definition is not None else ""
        if words[:3] == ["kubectl", "get", chart.DEFINITION]:
            return json.dumps({"items": self.jobs})
        return ""

    def test_a_new_cluster_and_one_left_by_scenarios_are_free(self):
        self.assertIsNone(chart.used_by_others())
        self.definition = OURS
        self.assertIsNone(chart.used_by_others())

    def test_a_cluster_in_use_is_not_free(self):
        self.definition = OURS
        self.jobs = [job("ml", "theirs")]
        self.assertIn("ml theirs", chart.used_by_others())
        for definition in ({}, {**OURS, "meta.helm.sh/release-namespace": "ml"}):
            self.definition = definition
            self.assertIn("is not of the release espalier", chart.used_by_others())
        self.namespace = "namespace/espalier-system"
        self.assertIn("namespace espalier-system", chart.used_by_others())

    def test_the_definition_stays_while_another_namespace_has_a_job(self):
        self.jobs = [job("e2e-1", "ours"), job("ml", "theirs")]
        with self.assertRaisesRegex(Failure, "namespace ml has theirs"):
            chart.remove()
        self.assertNotIn("customresourcedefinition", self.deleted)
        del self.jobs[1]
        chart.remove()
        self.assertIn("customresourcedefinition", self.deleted)


if __name__ == "__main__":
    unittest.main()
