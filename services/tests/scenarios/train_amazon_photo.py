"""Amazon Photo (published: SAGE-mean 91.4 +- 1.3 over 100 draws of the split)."""

import os
import pathlib

from harness import Scenario, job


def amazon_photo(**changes):
    source = pathlib.Path(os.environ["ESPALIER_TEST_DATA"]) / "amazon-photo"
    return job(
        source, "OGB", training__task={"type": "NodeClassification", "label": "node-label", "split": "random20-30"},
        graph__preprocess={"normalizeFeatures": "Row"},
        training__model={"type": "GraphSAGE", "aggregator": "Mean", "hiddenSize": 64, "dropout": 0.5},
        training__sampling={"layers": [{"fanout": 25}, {"fanout": 10}]}, training__batchSize=160,
        training__epochs=150, training__optimizer={"type": "Adam", "learningRate": 0.01, "weightDecay": 0.0005},
        trainers={"replicas": 2, "threads": 1}, **changes)


class TrainAmazonPhoto(Scenario):
    def test_reaches_ninety_percent(self):
        self.assertGreaterEqual(self.run_job(amazon_photo())["testAccuracy"], 0.90)
