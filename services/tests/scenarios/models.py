"""Trains GCN and attention on Cora with the real processes, and tests the error for a file that is not a module."""

from harness import CORA, Scenario, espalier, job

GCN = {"type": "GCN", "hiddenSize": 16, "dropout": 0.5}
GAT = {"type": "GAT", "hiddenSize": 64, "heads": 8, "dropout": 0.6, "attentionDropout": 0.6}


def cora(model, **changes):
    return job(CORA, "OGB", **{
        "graph__preprocess": {"normalizeFeatures": "Row"},
        "training__task": {"type": "NodeClassification", "label": "node-label", "split": "public"},
        "training__model": model, "training__sampling": {"layers": [{"fanout": -1}, {"fanout": -1}]},
        "training__batchSize": 140, "training__epochs": 60,
        "training__optimizer": {"type": "Adam", "learningRate": 0.01, "weightDecay": 0.0005}, **changes})


class Models(Scenario):
    def test_gcn_and_gat_reach_their_accuracy_with_the_same_bits_for_any_partitioning_and_access(self):
        for model, accuracy in ((GCN, 0.78), (GAT, 0.78)):
            results = [self.run_job(cora(model, graph__partitions={"count": partitions}), f"{model['type']}-{partitions}",
                                    "--access", access)
                       for partitions, access in ((1, "mapped"), (4, "rpc"))]
            with self.subTest(model=model["type"]):
                self.assertGreaterEqual(results[0]["testAccuracy"], accuracy)
                self.assertEqual(results[0]["parametersDigest"], results[1]["parametersDigest"])
                self.assertEqual(results[0]["testAccuracy"], results[1]["testAccuracy"])

    def test_an_invalid_module_file_is_named_with_the_expected_kind(self):
        self.run_job(cora({"type": "GraphSAGE", "hiddenSize": 8}, training__epochs=1,
                          output__save=["Model", "TorchScript"]), "sage")
        for file, expected in (("best.pt", "expected forward(self, layer: int"),
                               ("best.safetensors", "is a safetensors file")):
            own = cora({"type": "TorchScript", "uri": str(self.dir / "sage/model" / file)})
            process = espalier("run", "-f", self.write_job(own), "--output", self.dir / ("own-" + file))
            with self.subTest(file=file):
                self.assertEqual(process.returncode, 65, process.stdout + process.stderr)
                self.assertIn("spec.training.model.uri", process.stderr)
                self.assertIn(expected, process.stderr)
