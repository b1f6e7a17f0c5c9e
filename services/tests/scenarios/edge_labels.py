"""Edge classification and regression: whole runs that learn labels which both ends decide, whatever the partitions."""

import json

import numpy as np

from harness import Scenario, job

NODES = 300
MODEL = {"type": "GraphSAGE", "aggregator": "Mean", "hiddenSize": 32, "dropout": 0.0}


class EdgeLabels(Scenario):
    def setUp(self):
        super().setUp()
        rng = np.random.default_rng(7)
        self.kind = rng.integers(0, 4, NODES)
        features = np.eye(4)[self.kind] + 0.1 * rng.normal(size=(NODES, 4))
        pairs = np.unique(rng.integers(0, NODES, (2, 6000)), axis=1)
        self.edges = pairs[:, pairs[0] != pairs[1]]
        source, destination = self.kind[self.edges]
        order = rng.permutation(self.edges.shape[1])
        bounds = [int(0.7 * order.size), int(0.85 * order.size)]
        self.parts = dict(zip(("train", "validation", "test"), np.split(order, bounds)))
        self.labels = {"class": (source + 2 * destination) % 3, "value": (source - 0.5 * destination).astype(np.float32)}

        self.graph = self.dir / "graph"
        self.graph.mkdir()
        np.save(self.graph / "feat.npy", features.astype(np.float32))
        np.save(self.graph / "edges.npy", np.ascontiguousarray(self.edges))
        for name, rows in (self.labels | self.parts).items():
            np.save(self.graph / f"{name}.npy", rows)
        (self.graph / "graph.yaml").write_text(json.dumps({
            "version": 1, "name": "ratings",
            "nodes": [{"type": "user", "columns": {"node-feat": "feat.npy"}}],
            "edges": [{"type": ["user", "rates", "user"], "ids": "edges.npy",
                       "columns": {name: f"{name}.npy" for name in self.labels}}],
            "splits": [{"name": "rated", "edge_type": ["user", "rates", "user"],
                        **{name: f"{name}.npy" for name in self.parts}}]}))

    def train(self, name, *args, task=None, **changes):
        fields = {"type": "EdgeClassification", "label": "class", "split": "rated"} | (task or {})
        changes = {"training__task": fields, "training__model": MODEL, "training__sampling": {"layers": [{"fanout": 5}]},
                   "training__evaluation": {"everyEpochs": 5}, "output__save": ["Model", "Predictions"]} | changes
        return self.run_job(job(self.graph, **changes), name, *args)

    def predictions(self, name, part):
        """What a run has written of a part, which must be the split's edges in their order."""
        folder = self.dir / name / "predictions" / part
        ends = np.stack([np.load(folder / "sources.npy"), np.load(folder / "destinations.npy")])
        np.testing.assert_array_equal(ends, self.edges[:, self.parts[part]])
        return np.load(folder / "values.npy")

    def test_learns_classes_that_both_ends_decide(self):
        result = self.train("run", training__epochs=30)
        self.assertEqual(result["edgeOutputs"], 3)
        self.assertGreater(result["testAccuracy"], 0.8)  # the commonest class: some 0.4
        self.assertEqual(result["edges"], self.edges.shape[1])  # nothing is held out
        for part in ("validation", "test"):
            right = self.predictions("run", part) == self.labels["class"][self.parts[part]]
            self.assertAlmostEqual(right.mean(), result[f"{part}Accuracy"], places=6)
        self.predictions("run", "train")
        manifest = json.loads((self.dir / "run/predictions/manifest.json").read_text())
        self.assertEqual(manifest["format"], "espalier.edge-results")
        self.assertEqual((manifest["edge_type"], manifest["split"]), ("user:rates:user", "rated"))

        # The model that was written says the same of the same edges.
        again = self.train("again", training__epochs=0, training__model=MODEL | {
            "uri": str(self.dir / "run/model/best.safetensors")})
        self.assertEqual(again["testAccuracy"], result["testAccuracy"])
        np.testing.assert_array_equal(self.predictions("again", "test"), self.predictions("run", "test"))

    def test_learns_values_with_two_trainers(self):
        result = self.train("run", task={"type": "EdgeRegression", "label": "value"}, training__epochs=30,
                            trainers__replicas=2)
        self.assertLess(result["testMeanSquaredError"], 0.3 * float(self.labels["value"].var()))
        errors = self.predictions("run", "test").reshape(-1) - self.labels["value"][self.parts["test"]]
        self.assertAlmostEqual(float((errors ** 2).mean()), result["testMeanSquaredError"], delta=1e-4)
        self.assertFalse((self.dir / "run/logits").exists())

    def test_partitions_and_transports_change_no_bit(self):
        reverse = {"task": {"exclude": "ReverseEdges"}, "training__epochs": 2,
                   "graph__preprocess": {"addReverseEdges": True, "dropDuplicateEdges": True}}
        one = self.train("one", "--audit", **reverse, graph__partitions={"count": 1})
        for access in ("mapped", "rpc"):
            four = self.train(f"four-{access}", "--audit", "--access", access, **reverse,
                              graph__partitions={"count": 4, "algorithm": "METIS"})
            for same in ("samplesDigest", "parametersDigest", "testAccuracy"):
                self.assertEqual(four[same], one[same], access)
            np.testing.assert_array_equal(self.predictions(f"four-{access}", "test"), self.predictions("one", "test"))
        plain = self.train("plain", "--audit", **(reverse | {"task": {}}), graph__partitions={"count": 1})
        self.assertNotEqual(plain["samplesDigest"], one["samplesDigest"])
