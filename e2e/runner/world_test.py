"""The undisturbed run: its results in the bucket, and its report if it fails."""

import contextlib
import json
import os
import pathlib
import tempfile
import threading
import types
import unittest
from unittest import mock

from runner import world
from runner.commands import Failure

MODELS = {"best.safetensors": ["aa"], "last.safetensors": ["bb"]}
RESULT = {"parametersDigest": "d1", "lossPerEpoch": [0.5, 0.25], "testAccuracy": 0.8}


class FakeBucket:
    def __init__(self):
        self.objects = {}

    def keys(self, prefix):
        return [key for key in self.objects if key.startswith(prefix)]

    def json(self, key):
        return json.loads(self.objects[key])

    def put_json(self, key, value):
        self.objects[key] = json.dumps(value)


class EndTest(unittest.TestCase):
    def test_namespaces_are_deleted_during_the_next_scenario(self):
        current = world.World(FakeBucket(), pathlib.Path("none"))
        events, may_go = [], [threading.Event(), threading.Event()]

        def deleting(number):
            def delete():
                self.assertTrue(may_go[number].wait(30))
                events.append(f"{number} is gone")
            return types.SimpleNamespace(delete=delete)

        current.namespace = deleting(0)
        current.end()
        events.append("the next scenario")
        current.namespace = deleting(1)
        may_go[0].set()
        current.end()
        self.assertEqual(events, ["the next scenario", "0 is gone"])
        may_go[1].set()
        with mock.patch("runner.world.run", lambda command: '{"items": []}'):
            current.wait_until_gone()
        self.assertEqual(events[-1], "1 is gone")


class UndisturbedTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.reports = pathlib.Path(folder.name)
        self.asked = []
        self.start(mock.patch.dict(os.environ, {"ESPALIER_E2E_CLUSTER": "main", "ESPALIER_E2E_TAG": "1"}))
        self.start(mock.patch("runner.world.Namespace", lambda name, bucket: self.namespace(name)))
        self.start(mock.patch("runner.world.report.write", self.note("report")))
        self.alone = dict(RESULT)
        self.start(mock.patch("runner.world.run_in_image", types.SimpleNamespace(
            begin=self.note("pod"), result=self.note("pod's end", lambda: self.alone))))
        self.bucket = FakeBucket()

    def start(self, patch):
        self.addCleanup(patch.stop)
        return patch.start()

    def note(self, what, answer=lambda: None):
        def asked(*arguments):
            self.asked.append(what)
            return answer()
        return asked

    def namespace(self, name):
        self.assertTrue(name.startswith("e2e-undisturbed-"))
        return types.SimpleNamespace(
            name=name, create=self.note("create"), create_bucket_secret=self.note("secret"), apply=self.note("job"),
            wait_for_phase=self.note("job's end"), models=lambda job: MODELS, result=lambda job: RESULT,
            delete=self.note("delete"))

    def world(self):
        return world.World(self.bucket, self.reports)

    def quietly(self):
        return contextlib.redirect_stdout(None)

    def test_the_pod_runs_beside_the_job_and_results_are_found_later(self):
        with self.quietly():
            first = self.world()
            first.train_undisturbed()
            self.assertEqual(first.undisturbed_losses(), [0.5, 0.25])
        self.assertEqual(self.asked, ["create", "secret", "job", "pod", "job's end", "pod's end", "delete"])
        second = self.world()
        self.assertEqual(second.undisturbed_losses(), [0.5, 0.25])
        self.expect(second, {"cora": MODELS})
        with self.assertRaisesRegex(Failure, "other.safetensors"):
            self.expect(second, {"cora": {"other.safetensors": ["cc"]}})
        self.assertEqual(self.asked.count("create"), 1)

    def test_on_other_clusters_it_runs_alone_and_keeps_nothing(self):
        del os.environ["ESPALIER_E2E_CLUSTER"]
        with self.quietly():
            current = self.world()
            current.train_undisturbed()
        self.assertEqual(self.asked, ["create", "secret", "job", "job's end", "delete"])
        self.assertEqual(self.bucket.objects, {})
        self.expect(current, results={"cora": {"testAccuracy": 0.81}})
        with self.assertRaisesRegex(Failure, "0.7"):
            self.expect(current, results={"cora": {"testAccuracy": 0.7}})

    def expect(self, current, models=None, results=None):
        current.namespace = types.SimpleNamespace(models=(models or {}).get, result=(results or {}).get)
        current.expect_as_undisturbed("cora")

    def test_bits_are_compared_only_on_a_local_cluster(self):
        fields = {"same": ["digest"], "near": "testAccuracy"}
        here, near, far = ({"digest": digest, "testAccuracy": accuracy}
                           for digest, accuracy in (("a", 0.8), ("b", 0.81), ("a", 0.7)))
        self.world().expect_as_here(dict(here), here, **fields)
        with self.assertRaisesRegex(Failure, "digest"):
            self.world().expect_as_here(near, here, **fields)
        del os.environ["ESPALIER_E2E_CLUSTER"]
        self.world().expect_as_here(near, here, **fields)
        with self.assertRaisesRegex(Failure, "testAccuracy"):
            self.world().expect_as_here(far, here, **fields)

    def test_failures_are_reported_before_deletion(self):
        self.alone["parametersDigest"] = "d2"
        with self.quietly(), self.assertRaisesRegex(Failure, "d1 on the cluster, and with d2"):
            self.world().train_undisturbed()
        self.assertEqual(self.asked[-3:], ["pod's end", "report", "delete"])
        self.assertEqual(self.bucket.objects, {})

    def test_a_scenario_may_keep_objects_from_cleanup(self):
        with self.quietly(), self.assertRaisesRegex(Failure, "as it should not be"):
            current = self.world()
            current.namespace, current._scenario = self.namespace("e2e-undisturbed-1"), "scenario"
            with current.kept_evidence("upgraded"):
                self.note("a part that passes")()
            with current.kept_evidence("upgraded"):
                raise Failure("as it should not be")
        self.assertEqual(self.asked, ["a part that passes", "report"])


if __name__ == "__main__":
    unittest.main()
