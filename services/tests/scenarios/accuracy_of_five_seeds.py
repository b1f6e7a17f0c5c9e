"""Tests the mean accuracy of five seeds on Cora's public split and on Amazon Photo, and prints the accuracy of each
seed."""

import os
import statistics
import unittest

from harness import Scenario
from train_amazon_photo import amazon_photo
from train_cora import whole_cora

SEEDS = range(1, 6)


class AccuracyOfFiveSeeds(Scenario):
    def mean_of(self, name, job_of_seed):
        accuracies = []
        for seed in SEEDS:
            accuracies.append(self.run_job(job_of_seed(seed), f"seed-{seed}")["testAccuracy"])
            print(f"{name}, seed {seed}: {100 * accuracies[-1]:.1f} %", flush=True)
        mean = statistics.mean(accuracies)
        print(f"{name}, mean of {len(accuracies)}: {100 * mean:.2f} %, standard deviation "
              f"{100 * statistics.stdev(accuracies):.2f}", flush=True)
        return mean

    def test_cora(self):
        self.assertGreaterEqual(self.mean_of("Cora", lambda seed: whole_cora(training__seed=seed)), 0.79)

    @unittest.skipUnless(os.environ.get("ESPALIER_TEST_DATA"), "ESPALIER_TEST_DATA is not set")
    def test_amazon_photo(self):
        mean = self.mean_of("Amazon Photo", lambda seed: amazon_photo(training__seed=seed))
        self.assertGreaterEqual(mean, 0.90)
