"""Runs the example of DGL's chapter on distributed training in both forms of docs/coming-from-dgl.md: as a document, on
a small graph instead of ogbn-products, and as a program with its own model, on Cora."""

import json

import numpy as np

from graph_folders import random_edges, write_csv_gz
from harness import BIN, CORA, SOURCE, Scenario, espalier

DOCUMENT = SOURCE / "crds/examples/ogbn-products.yaml"
PROGRAM = BIN / "espalier_example_graph_sage"
NODES, EDGES, CLASSES = 2000, 12000, 4


class ChaptersExample(Scenario):
    def write_products(self):
        """Writes OGB's folder of raw CSV. Products that are bought together mostly have the same category."""
        rng = np.random.default_rng(6)
        labels = rng.integers(0, CLASSES, NODES)
        features = np.eye(CLASSES)[labels] + 0.5 * rng.normal(size=(NODES, CLASSES))
        edges = random_edges(rng, NODES, NODES, 4 * EDGES)
        edges = edges[:, (labels[edges[0]] == labels[edges[1]]) & (edges[0] < edges[1])]
        folder = self.dir / "products"
        write_csv_gz(folder / "raw/edge.csv.gz", edges.T)
        write_csv_gz(folder / "raw/num-node-list.csv.gz", [[NODES]])
        write_csv_gz(folder / "raw/num-edge-list.csv.gz", [[edges.shape[1]]])
        write_csv_gz(folder / "raw/node-feat.csv.gz", features.round(4))
        write_csv_gz(folder / "raw/node-label.csv.gz", labels.reshape(-1, 1))
        for part, ids in zip(("train", "valid", "test"), np.split(rng.permutation(NODES), [1200, 1600])):
            write_csv_gz(folder / f"split/sales_ranking/{part}.csv.gz", ids.reshape(-1, 1))
        return folder, len(np.unique(edges[0] * NODES + edges[1]))

    def test_the_document_runs(self):
        folder, num_pairs = self.write_products()
        output = self.dir / "run"
        fields = {"graph.source.uri": folder, "output.uri": output, "training.batchSize": 400, "training.epochs": 10,
                  "training.model.hiddenSize": 32, "trainers.threads": 1}
        sets = [word for name, value in fields.items() for word in ("--set", f"{name}={value}")]
        process = espalier("run", "-f", DOCUMENT, "--output", output, *sets, timeout=240)
        self.assertEqual(process.returncode, 0, process.stdout + process.stderr)
        result = json.loads((output / "result.json").read_text())
        self.assertEqual([result["partitions"], result["trainers"]], [4, 4])
        self.assertGreaterEqual(result["edges"], 2 * num_pairs)  # addReverseEdges
        self.assertGreater(result["testAccuracy"], 0.6)  # of four classes
        self.assertTrue((output / "manifest.json").exists())

    def test_the_program_learns_cora_on_two_ranks(self):
        document = {"apiVersion": "espalier.io/v1alpha1", "kind": "DistTraining", "metadata": {"name": "program"},
                    "spec": {"graph": {"source": {"uri": str(CORA), "format": "OGB"},
                                       "preprocess": {"normalizeFeatures": "Row"},
                                       "partitions": {"count": 2, "algorithm": "METIS"}},
                             "trainers": {"replicas": 2, "threads": 1}}}
        path = self.write_job(document)

        def run(name, *args):
            return espalier("run", "-f", path, "--output", self.dir / name, "--", PROGRAM, *args, timeout=240)

        process = run("run", "public", 40, 0.01)
        self.assertEqual(process.returncode, 0, process.stdout + process.stderr)
        result = json.loads((self.dir / "run/result.json").read_text())
        self.assertEqual([result["partitions"], result["trainers"]], [2, 2])
        self.assertGreaterEqual(result["testAccuracy"], 0.75)

        process = run("none", "no-such-split", 1, 0.01)
        self.assertEqual(process.returncode, 65, process.stderr)
        self.assertIn("no-such-split", process.stderr)
        untrained = self.generate("--nodes", 500, "--edges", 3000, "--features", 4, "--classes", 3, "--train", 0)
        document["spec"]["graph"] = {"source": {"uri": str(untrained), "format": "NPY"}, "partitions": {"count": 2}}
        self.write_job(document)
        process = run("untrained", "random", 1, 0.01)
        self.assertEqual(process.returncode, 65, process.stderr)
        self.assertIn("the split 'random' has no training nodes", process.stderr)
        process = run("words", "public", "many", 0.01)
        self.assertEqual(process.returncode, 65, process.stderr)
        self.assertIn("expected SPLIT EPOCHS LEARNING_RATE", process.stderr)
