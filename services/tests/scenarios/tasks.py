"""Tests whole runs of tasks other than single-label classification on a homogeneous graph. Each beats a baseline by
far."""

import json

import numpy as np

from graph_folders import mean_of_neighbors, random_edges, write_npz_graph, write_ogb_heterogeneous
from harness import Scenario, espalier, job

NODES = 2000
MODEL = {"type": "GraphSAGE", "aggregator": "Mean", "hiddenSize": 32, "dropout": 0.0}
LAYERS = {"layers": [{"fanout": -1}]}


class Regression(Scenario):
    def setUp(self):
        super().setUp()
        rng = np.random.default_rng(1)
        features = rng.normal(size=(NODES, 4)).astype(np.float32)
        edges = random_edges(rng, NODES, NODES, 6 * NODES)
        self.target = 3 * mean_of_neighbors(edges, features)[:, 0] + features[:, 1] + 5
        self.graph = write_npz_graph(self.dir / "graph", edges,
                                     {"node-feat": features, "value": self.target.astype(np.float32)})

    def train(self, name, *args, **changes):
        changes = {"training__task": {"type": "NodeRegression", "label": "value", "split": "random"},
                   "training__model": MODEL, "training__sampling": LAYERS, "training__epochs": 40,
                   "training__optimizer": {"type": "Adam", "learningRate": 0.05}, "training__evaluation": {}} | changes
        return self.run_job(job(self.graph, **changes), name, *args)

    def test_learns_a_number_that_neighbors_decide(self):
        graph, target = self.graph, self.target
        result = self.train("run")

        always_the_mean = float(target.var())
        self.assertLess(result["testMeanSquaredError"], 0.1 * always_the_mean)
        predictions = self.dir / "run/predictions/node"
        by_id = np.empty(NODES, np.float32)
        by_id[np.load(predictions / "ids.npy")] = np.load(predictions / "values.npy").reshape(-1)
        test = np.load(graph / "graph.npz")["test"]
        self.assertAlmostEqual(float(((by_id - target)[test] ** 2).mean()), result["testMeanSquaredError"], delta=1e-3)

    def test_learns_it_from_rows_to_the_same_bits_over_any_partitions_and_samplers(self):
        fields = {"training__epochs": 20, "training__inputs": [{"embedding": {
            "size": 8, "optimizer": {"type": "Adam", "learningRate": 0.05}}}]}
        one = self.train("one", **fields, graph__partitions={"count": 1})
        three = self.train("three", "--access", "rpc", **fields, samplers__replicas=2,
                           graph__partitions={"count": 3, "algorithm": "Random"})
        for number in ("parametersDigest", "learnableRowsDigest", "lossPerEpoch", "testMeanSquaredError"):
            self.assertEqual(three[number], one[number], number)
        self.assertLess(one["lossPerEpoch"][-1], 0.5 * one["lossPerEpoch"][0])


class MultiLabel(Scenario):
    def test_learns_several_labels_at_once(self):
        rng = np.random.default_rng(2)
        features = rng.normal(size=(NODES, 5)).astype(np.float32)
        edges = random_edges(rng, NODES, NODES, 6 * NODES)
        labels = (mean_of_neighbors(edges, features) + 0.5 * features > 0).astype(np.float32)
        graph = write_npz_graph(self.dir / "graph", edges, {"node-feat": features, "tags": labels})

        result = self.run_job(job(
            graph, training__task={"type": "NodeClassification", "label": "tags", "split": "random", "multiLabel": True},
            training__model=MODEL, training__sampling=LAYERS, training__epochs=40, training__evaluation={}))

        positive = labels.mean()
        always_yes = 2 * positive / (1 + positive)  # the best constant's micro F1
        self.assertGreater(result["testMicroF1"], always_yes + 0.15)


class HeterogeneousOgb(Scenario):
    def test_rgcn_learns_and_import_changes_nothing(self):
        rng = np.random.default_rng(3)
        authors, papers, classes = 400, 1000, 4
        field = rng.integers(0, classes, authors)
        label = rng.integers(0, classes, papers)
        writes = random_edges(rng, authors, papers, 12000)
        writes = writes[:, (field[writes[0]] == label[writes[1]]) | (rng.random(12000) < 0.1)]
        features = {"author": np.eye(classes)[field] + 0.3 * rng.normal(size=(authors, classes)),
                    "paper": rng.normal(size=(papers, classes))}
        order = rng.permutation(papers)
        source = write_ogb_heterogeneous(
            self.dir / "source", {"author": authors, "paper": papers},
            {("author", "writes", "paper"): writes,
             ("paper", "cites", "paper"): random_edges(rng, papers, papers, 4000)},
            {name: rows.round(4) for name, rows in features.items()}, {"paper": label},
            {"paper": np.split(order, [600, 800])})
        imported = self.dir / "imported"
        process = espalier("import", source, "--format", "OGB", "--output", imported, "--threads", 2, "--json")
        self.assertEqual(process.returncode, 0, process.stderr)

        inputs = [{"nodeType": name, "features": ["node-feat"]} for name in features]
        common = dict(training__task={"type": "NodeClassification", "nodeType": "paper", "label": "node-label",
                                      "split": "time"},
                      training__inputs=inputs, training__epochs=15,
                      training__model={"type": "RGCN", "hiddenSize": 16, "dropout": 0.1, "numBases": 2},
                      training__sampling={"layers": [{"fanout": 10}]})
        from_csv = self.run_job(job(source, "OGB", **common), "from-csv")
        from_arrays = self.run_job(job(imported, "NPY", **common), "from-arrays")

        self.assertGreater(from_csv["testAccuracy"], 1 / classes + 0.4)
        self.assertEqual(from_csv["parametersDigest"], from_arrays["parametersDigest"])


class TimeColumn(Scenario):
    def test_the_document_orders_in_edges_by_time(self):
        rng = np.random.default_rng(4)
        features = rng.normal(size=(500, 4)).astype(np.float32)
        edges = random_edges(rng, 500, 500, 5000)
        graph = write_npz_graph(self.dir / "graph", edges,
                                {"node-feat": features, "node-label": (features[:, 0] > 0).astype(np.int64)},
                                {"when": rng.integers(0, 10**9, 5000)})

        timed = self.run_job(job(graph, graph__timeColumn="when"), "timed", "--audit")
        plain = self.run_job(job(graph), "plain", "--audit")

        self.assertEqual(self.in_edge_order("timed"), "time:when,source,edge")
        self.assertEqual(self.in_edge_order("plain"), "source,edge")
        self.assertNotEqual(timed["samplesDigest"], plain["samplesDigest"])
        verified = espalier("verify", self.dir / "timed/partitions")
        self.assertEqual(verified.returncode, 0, verified.stdout + verified.stderr)

    def in_edge_order(self, run):
        manifest, = (self.dir / run / "partitions").glob("*/manifest.json")
        return json.loads(manifest.read_text())["in_edge_order"]


class StoredFeatureTypes(Scenario):
    def test_half_precision_features_train_like_float_ones(self):
        results = {}
        for stored in ("f32", "f16", "bf16"):
            graph = self.generate("--nodes", 2000, "--edges", 20000, "--classes", 4, "--features", 16, "--seed", 3,
                                  "--feature-type", stored, name=stored)
            results[stored] = self.run_job(job(graph), "run-" + stored)
        whole = results["f32"]
        for stored in ("f16", "bf16"):
            with self.subTest(stored):
                np.testing.assert_allclose(results[stored]["lossPerEpoch"], whole["lossPerEpoch"], rtol=0.02)
                self.assertAlmostEqual(results[stored]["testAccuracy"], whole["testAccuracy"], delta=0.05)
        self.assertEqual(len({result["parametersDigest"] for result in results.values()}), 3)


class ExternalAssignment(Scenario):
    def test_run_and_partition_accept_a_relative_path(self):
        graph = self.generate("--nodes", 500, "--edges", 3000, "--classes", 3, "--features", 4)
        (self.dir / "mine").mkdir()
        np.save(self.dir / "mine/node.npy", np.repeat(np.array([2, 0, 1]), [250, 100, 150]))
        document = self.write_job(job(graph, graph__partitions={"count": 3, "algorithm": "External",
                                                                "assignmentUri": "mine"}))
        for command in (("run", "-f", document, "--output", self.dir / "run"),
                        ("partition", graph, "--format", "NPY", "--count", 3, "--algorithm", "External",
                         "--assignment", "mine", "--output", self.dir / "by-hand")):
            process = espalier(*command, cwd=self.dir)
            self.assertEqual(process.returncode, 0, process.stdout + process.stderr)
        manifests = [*(self.dir / "run/partitions").glob("*/manifest.json"),
                     *(self.dir / "by-hand").glob("*/manifest.json")]
        self.assertEqual(len(manifests), 2)
        for manifest in manifests:
            node_type, = json.loads(manifest.read_text())["node_types"]
            self.assertEqual(node_type["first"], [0, 100, 250, 500])
