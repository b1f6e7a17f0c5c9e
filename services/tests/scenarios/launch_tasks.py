"""Tests edge tasks, link prediction and sampling methods on two machines over ssh, with samplers: the numbers are those
of one machine without samplers."""

import subprocess
import sys

from graph_folders import ratings, write_labeled_edges, write_timed_graph
from harness import SOURCE, job
from ssh_scenario import LaunchScenario, setUpModule  # noqa: F401

MODEL = {"type": "GraphSAGE", "aggregator": "Mean", "hiddenSize": 16, "dropout": 0.0}


class LaunchedTasks(LaunchScenario):
    def assert_launched_as_alone(self, document, *numbers):
        """Runs the document with two trainers on one machine and on two, and compares the numbers. With two trainers,
        sums do not depend on the order of the values."""
        document["spec"]["trainers"] = {"replicas": 2, "threads": 1}
        alone = self.run_job(document, "alone")
        process = self.launch("two", "--set", "samplers.replicas=2", document=document)
        self.assertEqual(process.returncode, 0, process.stderr)
        result = self.result("two")
        self.assertEqual([result["partitions"], result["samplers"], result["trainers"]], [2, 2, 2])
        for number in ("parametersDigest", "lossPerEpoch", *numbers):
            self.assertEqual(result[number], alone[number], number)
        return result

    def test_classes_of_edges_between_types_drawn_by_labor(self):
        write_labeled_edges(self.dir / "ratings", *ratings())
        result = self.assert_launched_as_alone(job(
            self.dir / "ratings", graph__preprocess={"addReverseEdges": True}, training__epochs=30,
            training__task={"type": "EdgeClassification", "label": "class", "split": "rated",
                            "edgeType": "user:rates:item", "exclude": "ReverseEdges"},
            training__inputs=[{"nodeType": node_type, "features": ["node-feat"]} for node_type in ("item", "user")],
            training__sampling={"layers": [{"fanout": 5}], "method": "Labor"}, training__model=MODEL,
            training__evaluation={"everyEpochs": 15}, output={"save": ["Model", "Predictions"]}), "testAccuracy")
        self.assertGreater(result["testAccuracy"], 0.7)  # the most frequent class: about 0.4
        self.assertTrue((self.shared / "two/predictions/test/values.npy").exists())

    def test_links(self):
        subprocess.run([sys.executable, str(SOURCE / "services/examples/cora_links.py"), str(self.dir / "links")],
                       check=True, timeout=120)
        self.assert_launched_as_alone(job(
            self.dir / "links", graph__preprocess={"addReverseEdges": True, "normalizeFeatures": "Row"},
            training__task={"type": "LinkPrediction", "split": "links", "negatives": {"type": "Uniform", "count": 4},
                            "scorer": "Dot"},
            training__model=MODEL, training__batchSize=512, training__epochs=2,
            training__evaluation={"everyEpochs": 2, "metric": "MRR"}), "testMrr", "edges")

    def test_the_last_edges_before_a_seeds_time(self):
        self.assert_launched_as_alone(job(
            write_timed_graph(self.dir / "timed"), graph__timeColumn="when", training__epochs=2, training__model=MODEL,
            training__sampling={"layers": [{"fanout": 5}, {"fanout": 5}], "seedTime": "joined", "method": "Last"},
            training__evaluation={"neighborhood": "Sampled"}, output={"save": ["Model"]}), "testAccuracy")
