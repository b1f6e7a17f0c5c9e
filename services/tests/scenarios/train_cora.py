"""Trains on Cora with the real processes, and tests the accuracy and the outputs as a Python user reads them."""

import json
import pathlib

import numpy as np
from safetensors.numpy import load_file

from harness import CORA, Scenario, job


def whole_cora(**changes):
    """Returns a job on the public split with two partitions and two trainers."""
    return job(
        CORA, "OGB", graph__preprocess={"normalizeFeatures": "Row"},
        training__task={"type": "NodeClassification", "label": "node-label", "split": "public"},
        training__model={"type": "GraphSAGE", "aggregator": "Mean", "hiddenSize": 64, "dropout": 0.5},
        training__sampling={"layers": [{"fanout": 25}, {"fanout": 10}]}, training__batchSize=140,
        training__epochs=60, training__optimizer={"type": "Adam", "learningRate": 0.01, "weightDecay": 0.0005},
        trainers={"replicas": 2, "threads": 1}, **changes)


class TrainCora(Scenario):
    def test_reaches_the_accuracy_and_leaves_files_that_python_opens(self):
        result = self.run_job(whole_cora(output__save=["Model", "Embeddings", "Predictions"]))

        self.assertGreaterEqual(result["testAccuracy"], 0.77)
        self.assertEqual(result["partitions"], 2)
        self.assertEqual(result["trainers"], 2)
        self.assertEqual(len(result["lossPerEpoch"]), len(result["secondsPerEpoch"]))
        self.assertLess(result["lossPerEpoch"][-1], result["lossPerEpoch"][0])
        self.assertRegex(result["blas"], r"^oneDNN \d[\d.]+, oneMKL \d{4}\.\d+$")
        # The code paths that trainers choose: oneDNN's on all processors, oneMKL's on Intel's; oneMKL uses AUTO on others.
        one_dnn, one_mkl = (("AVX512_CORE", "AVX512,STRICT") if " avx512vl " in pathlib.Path("/proc/cpuinfo").read_text()
                            else ("AVX2", "AVX2,STRICT"))
        self.assertIn(result["blasKernel"], [f"oneDNN {one_dnn}, oneMKL {path}" for path in (one_mkl, "AUTO")])
        self.assertEqual(result["threads"], 1)

        out = self.dir / "run"
        model = load_file(next(out.glob("model/*.safetensors")))
        self.assertTrue(all(np.isfinite(tensor).all() for tensor in model.values()))
        embeddings = self.rows_by_id(out / "embeddings")
        self.assertEqual(embeddings.shape, (2708, 64))
        classes = self.rows_by_id(out / "predictions")
        labels = np.loadtxt(CORA / "raw/node-label.csv.gz", dtype=np.int64)
        test = np.loadtxt(CORA / "split/public/test.csv.gz", dtype=np.int64)
        self.assertAlmostEqual(float((classes[test] == labels[test]).mean()), result["testAccuracy"], places=6)

    def test_learns_from_features_of_two_bytes(self):
        document = whole_cora()
        document["spec"]["graph"]["preprocess"]["featureDtype"] = "BF16"
        self.assertGreaterEqual(self.run_job(document)["testAccuracy"], 0.77)
        manifest = json.loads(next((self.dir / "run").glob("partitions/*/manifest.json")).read_text())
        dtypes = {column["name"]: column["dtype"] for column in manifest["node_types"][0]["columns"]}
        self.assertEqual(dtypes["node-feat"], "BF16")

    def test_learns_from_features_of_one_byte(self):
        document = whole_cora()
        document["spec"]["graph"]["preprocess"]["featureDtype"] = "I8"
        self.assertGreaterEqual(self.run_job(document)["testAccuracy"], 0.77)
        manifest = json.loads(next((self.dir / "run").glob("partitions/*/manifest.json")).read_text())
        self.assertEqual(manifest["format_version"], 2)
        columns = {column["name"]: column for column in manifest["node_types"][0]["columns"]}
        self.assertEqual(columns["node-feat"]["dtype"], "I8")
        self.assertEqual(len(columns["node-feat"]["scales"]), 1433)

    def rows_by_id(self, folder):
        """Returns an output of the node type `node` in the order of original ids."""
        manifest = json.loads((folder / "manifest.json").read_text())
        self.assertTrue(manifest)
        ids = np.load(folder / "node/ids.npy")
        values = np.load(folder / "node/values.npy")
        self.assertEqual(sorted(ids.tolist()), list(range(2708)))
        by_id = np.empty_like(values)
        by_id[ids] = values
        return by_id
