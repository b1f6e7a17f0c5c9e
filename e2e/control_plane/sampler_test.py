"""Sampler: samples until it is stopped, and keeps the errors of samples."""

import threading
import unittest

from control_plane.sampler import Sampler


class Counter(Sampler):
    """Its second sample fails."""

    def __init__(self):
        self.calls = 0
        self.enough = threading.Event()
        super().__init__()

    def sample(self):
        self.calls += 1
        if self.calls == 3:
            self.enough.set()
        if self.calls == 2:
            raise RuntimeError("no answer")


class SamplerTest(unittest.TestCase):
    def test_an_error_of_a_sample_is_kept_and_sampling_continues(self):
        counter = Counter()
        self.assertTrue(counter.enough.wait(60))
        counter.stop()
        self.assertFalse(counter.thread.is_alive())
        self.assertEqual(counter.failures, ["RuntimeError('no answer')"])
        self.assertEqual(counter.samples, counter.calls - 1)


if __name__ == "__main__":
    unittest.main()
