"""Tests whole runs of edge classification and regression. Labels depend on both ends of an edge, whose nodes have one
type or two. The numbers are the same for any partitions, samplers and transports."""

import json

import numpy as np

from graph_folders import ratings, write_labeled_edges
from harness import Scenario, espalier, job

NODES = 300
USERS, ITEMS = 160, 200
MODEL = {"type": "GraphSAGE", "aggregator": "Mean", "hiddenSize": 32, "dropout": 0.0}
SAME = ("samplesDigest", "parametersDigest", "lossPerStep", "testAccuracy")


class LabeledEdges(Scenario):
    """Tests with a graph of graph_folders.write_labeled_edges."""

    inputs = [{"features": ["node-feat"]}]

    def write_graph(self, edge_type, kinds, edges, labels):
        self.edges, self.labels = edges, labels
        self.graph = self.dir / "graph"
        self.parts = write_labeled_edges(self.graph, edge_type, kinds, edges, labels)

    def train(self, name, *args, task=None, **changes):
        fields = {"type": "EdgeClassification", "label": "class", "split": "rated"} | (task or {})
        changes = {"training__task": fields, "training__model": MODEL, "training__inputs": self.inputs,
                   "training__sampling": {"layers": [{"fanout": 5}]}, "training__evaluation": {"everyEpochs": 5},
                   "output__save": ["Model", "Predictions"]} | changes
        return self.run_job(job(changes.pop("source", self.graph), **changes), name, *args)

    def predictions(self, name, part):
        """Returns the outputs of a run for a part of the split, whose edges must be in the order of the split."""
        folder = self.dir / name / "predictions" / part
        ends = np.stack([np.load(folder / "sources.npy"), np.load(folder / "destinations.npy")])
        np.testing.assert_array_equal(ends, self.edges[:, self.parts[part]])
        return np.load(folder / "values.npy")

    def assert_same(self, some, others):
        for number in SAME:
            self.assertEqual(some[number], others[number], number)


class EdgeLabels(LabeledEdges):
    def setUp(self):
        super().setUp()
        rng = np.random.default_rng(7)
        kind = rng.integers(0, 4, NODES)
        pairs = np.unique(rng.integers(0, NODES, (2, 6000)), axis=1)
        edges = pairs[:, pairs[0] != pairs[1]]
        source, destination = kind[edges]
        self.write_graph(["user", "rates", "user"], {"user": kind}, edges, {
            "class": (source + 2 * destination) % 3, "value": (source - 0.5 * destination).astype(np.float32)})

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

        # The saved model predicts the same for the same edges.
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
            self.assert_same(four, one)
            np.testing.assert_array_equal(self.predictions(f"four-{access}", "test"), self.predictions("one", "test"))
        plain = self.train("plain", "--audit", **(reverse | {"task": {}}), graph__partitions={"count": 1})
        self.assertNotEqual(plain["samplesDigest"], one["samplesDigest"])

    def test_samplers_draw_the_same_as_trainers(self):
        fields = {"task": {"exclude": "Self"}, "training__epochs": 2, "output__save": ["Model"]}
        for trainers, rows in ((1, ((1, "mapped", 4), (3, "rpc", 4), (3, "mapped", 1))), (2, ((3, "rpc", 4),))):
            none = self.train(f"{trainers}-none", "--audit", **fields, trainers__replicas=trainers,
                              graph__partitions={"count": 4, "algorithm": "METIS"})
            for samplers, access, partitions in rows:
                some = self.train(f"{trainers}-{samplers}-{partitions}", "--audit", "--access", access, **fields,
                                  trainers__replicas=trainers, samplers__replicas=samplers,
                                  graph__partitions={"count": partitions, "algorithm": "METIS"})
                with self.subTest(trainers=trainers, samplers=samplers, access=access, partitions=partitions):
                    self.assert_same(some, none)


class EdgeLabelsBetweenTypes(LabeledEdges):
    inputs = [{"nodeType": "item", "features": ["node-feat"]}, {"nodeType": "user", "features": ["node-feat"]}]

    def setUp(self):
        super().setUp()
        self.write_graph(*ratings(USERS, ITEMS))

    def fields(self, epochs):
        return {"task": {"edgeType": "user:rates:item", "exclude": "ReverseEdges"}, "training__epochs": epochs,
                "graph__preprocess": {"addReverseEdges": True}}

    def test_learns_classes_and_writes_them_under_the_ids_of_both_types(self):
        result = self.train("run", **self.fields(30), output__save=["Embeddings", "Model", "Predictions"])
        self.assertGreater(result["testAccuracy"], 0.75)  # the commonest class: some 0.4
        right = self.predictions("run", "test") == self.labels["class"][self.parts["test"]]
        self.assertAlmostEqual(right.mean(), result["testAccuracy"], places=6)
        for node_type, count in (("user", USERS), ("item", ITEMS)):
            embeddings = np.load(self.dir / "run/embeddings" / node_type / "values.npy")
            self.assertEqual(embeddings.shape, (count, MODEL["hiddenSize"]))

    def test_partitions_samplers_and_transports_change_no_bit(self):
        fields = self.fields(2)
        one = self.train("one", "--audit", **fields, graph__partitions={"count": 1})
        for samplers, access in ((0, "mapped"), (0, "rpc"), (1, "rpc"), (3, "rpc")):
            four = self.train(f"four-{samplers}-{access}", "--audit", "--access", access, **fields,
                              samplers__replicas=samplers, graph__partitions={"count": 4, "algorithm": "METIS"})
            self.assert_same(four, one)
            np.testing.assert_array_equal(self.predictions(f"four-{samplers}-{access}", "test"),
                                          self.predictions("one", "test"))


class LabelsOfParallelEdges(LabeledEdges):
    """Several edges between the same ends, whose labels differ."""

    def setUp(self):
        super().setUp()
        rng = np.random.default_rng(9)
        pairs = rng.integers(0, 60, (2, 400))
        edges = np.concatenate([pairs, pairs, pairs[::-1]], axis=1)
        self.write_graph(["user", "rates", "user"], {"user": rng.integers(0, 4, 60)}, edges,
                         {"class": rng.integers(0, 5, edges.shape[1])})

    def test_a_split_by_numbers_distinguishes_parallel_edges(self):
        fields = {"training__epochs": 2, "graph__preprocess": {"addReverseEdges": True}}
        one = self.train("one", "--audit", **fields, graph__partitions={"count": 1})
        for part in ("validation", "test"):
            right = self.predictions("one", part) == self.labels["class"][self.parts[part]]
            self.assertAlmostEqual(right.mean(), one[f"{part}Accuracy"], places=6)
        for samplers, access in ((0, "mapped"), (3, "rpc")):
            four = self.train(f"four-{samplers}", "--audit", "--access", access, **fields, samplers__replicas=samplers,
                              graph__partitions={"count": 4, "algorithm": "METIS"})
            self.assert_same(four, one)

        # An imported graph gives the same results.
        imported = self.dir / "imported"
        process = espalier("import", self.graph, "--format", "NPY", "--output", imported)
        self.assertEqual(process.returncode, 0, process.stdout + process.stderr)
        self.assert_same(self.train("again", "--audit", **fields, source=imported), one)

    def test_a_split_by_ends_is_refused_and_one_edge_of_each_pair_is_enough(self):
        for part, rows in self.parts.items():
            np.save(self.graph / f"{part}.npy", np.ascontiguousarray(self.edges[:, rows]))
        refused = self.start(job(self.graph, training__task={"type": "EdgeClassification", "label": "class",
                                                             "split": "rated"}), "refused")
        output, _ = refused.communicate(timeout=240)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("several edges whose rows differ", output)
        self.train("single", training__epochs=1, graph__preprocess={"dropDuplicateEdges": True})
