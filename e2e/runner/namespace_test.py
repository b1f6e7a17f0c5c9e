"""A checkpoint whose upload began before a fault does not prove that the job continues. Warning events of a job without
faults."""

import json
import types
import unittest
from unittest import mock

from runner import commands
from runner.commands import Failure
from runner.namespace import Namespace


class FakeBucket:
    """Returns the prepared checkpoints, one state per query."""

    def __init__(self, *looks):
        self._looks = [[f"run/checkpoints/{number}/manifest.json" for number in look] for look in looks]

    def keys(self, prefix):
        return ["run/checkpoints/5/model.safetensors", *(self._looks.pop(0) if len(self._looks) > 1 else self._looks[0])]


class WaitUntilItTrainsTest(unittest.TestCase):
    def setUp(self):
        self.now = 0.0

        def sleep(seconds):
            self.now += seconds

        patch = mock.patch.object(commands, "time", types.SimpleNamespace(monotonic=lambda: self.now, sleep=sleep))
        patch.start()
        self.addCleanup(patch.stop)

    def namespace(self, bucket, phase="Training"):
        namespace = Namespace("none", bucket)
        namespace.job = lambda name: {"status": {"phase": phase}}
        namespace.run_prefix = lambda name: "run"
        return namespace

    def test_one_checkpoint_in_progress_is_not_enough(self):
        with self.assertRaisesRegex(Failure, "training of cora: not within 10 s"):
            self.namespace(FakeBucket([1, 2], [2, 3])).wait_until_it_trains("cora", 10)

    def test_two_checkpoints_are_enough_even_if_the_first_is_deleted(self):
        self.namespace(FakeBucket([1, 2], [2, 3], [4])).wait_until_it_trains("cora", 10)

    def test_earlier_checkpoints_do_not_count(self):
        with self.assertRaises(Failure):
            self.namespace(FakeBucket([1, 2, 3, 4], [2, 3], [1, 4])).wait_until_it_trains("cora", 10)

    def test_an_ended_job_fails(self):
        with self.assertRaisesRegex(Failure, "ended too early"):
            self.namespace(FakeBucket([1]), "Succeeded").wait_until_it_trains("cora", 10)


class UnexpectedWarningsTest(unittest.TestCase):
    @staticmethod
    def namespace(*events):
        namespace = Namespace("none", FakeBucket([]))
        namespace.kubectl = lambda *arguments: json.dumps({"items": [
            {"involvedObject": {"kind": kind, "name": "cora-x"}, "reason": reason, "message": message}
            for kind, reason, message in events]})
        return namespace

    def test_warnings_of_all_children_are_named(self):
        namespace = self.namespace(
            ("Pod", "Unhealthy", "Startup probe failed: connection refused"),
            ("PodDisruptionBudget", "CalculateExpectedPodCountFailed", "no controller"), ("Job", "FailedCreate", "a"),
            ("StatefulSet", "FailedCreate", "b"), ("DistTraining", "TrainedWithWarnings", "c"),
            ("Pod", "FailedMount", 'MountVolume.SetUp failed for volume "tls" : secret "cora-tls-server" not found'))
        self.assertEqual(namespace.unexpected_warnings(), [
            "Pod cora-x: Unhealthy: Startup probe failed: connection refused",
            "PodDisruptionBudget cora-x: CalculateExpectedPodCountFailed: no controller", "Job cora-x: FailedCreate: a",
            "StatefulSet cora-x: FailedCreate: b", "DistTraining cora-x: TrainedWithWarnings: c",
            'Pod cora-x: FailedMount: MountVolume.SetUp failed for volume "tls" : secret "cora-tls-server" not found'])
        self.assertEqual(namespace.unexpected_warnings(("FailedCreate",)),
                         ["Job cora-x: FailedCreate: a", "StatefulSet cora-x: FailedCreate: b"])

    def test_late_secrets_and_endpoint_updates_are_no_warnings(self):
        late = 'MountVolume.SetUp failed for volume "tls" : failed to sync secret cache: timed out waiting for the condition'
        namespace = self.namespace(
            ("Pod", "FailedMount", late), ("Endpoints", "FailedToUpdateEndpoint", "conflict"))
        self.assertEqual(namespace.unexpected_warnings(), [])
        self.assertEqual(len(namespace.warnings()), 2)


if __name__ == "__main__":
    unittest.main()
