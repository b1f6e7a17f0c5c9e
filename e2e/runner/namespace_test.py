"""Checkpoints that were on their way before something happened to a job are no sign that it goes on."""

import types
import unittest
from unittest import mock

from runner import commands
from runner.commands import Failure
from runner.namespace import Namespace


class FakeBucket:
    """Has what it had a moment ago, and what is next."""

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

    def test_one_that_was_under_way_is_not_enough(self):
        with self.assertRaisesRegex(Failure, "training of cora: not within 10 s"):
            self.namespace(FakeBucket([1, 2], [2, 3])).wait_until_it_trains("cora", 10)

    def test_two_are_and_the_first_may_be_gone_by_then(self):
        self.namespace(FakeBucket([1, 2], [2, 3], [4])).wait_until_it_trains("cora", 10)

    def test_what_was_there_before_does_not_count(self):
        with self.assertRaises(Failure):
            self.namespace(FakeBucket([1, 2, 3, 4], [2, 3], [1, 4])).wait_until_it_trains("cora", 10)

    def test_a_job_that_is_over_fails(self):
        with self.assertRaisesRegex(Failure, "over too early"):
            self.namespace(FakeBucket([1]), "Succeeded").wait_until_it_trains("cora", 10)


if __name__ == "__main__":
    unittest.main()
