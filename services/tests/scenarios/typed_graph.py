"""Tests typed graphs: labels that only a model with relations can learn, and types without nodes or edges."""

import numpy as np

from graph_folders import random_edges
from harness import Scenario, espalier, job


class TypedGraph(Scenario):
    def test_rgcn_beats_a_model_that_ignores_types(self):
        graph = self.generate("--typed", "--nodes", 3000, "--edges", 30000, "--classes", 4, "--features", 8,
                              "--seed", 5)
        inputs = [{"nodeType": node_type, "features": ["node-feat"]} for node_type in ("author", "paper")]
        common = dict(training__task={"type": "NodeClassification", "nodeType": "paper", "label": "node-label",
                                      "split": "random"},
                      training__inputs=inputs, training__epochs=15)

        def train(model):
            return self.run_job(job(graph, **common, training__model={"type": model, "hiddenSize": 16, "dropout": 0.1}),
                                model)

        rgcn, sage = train("RGCN"), train("GraphSAGE")

        self.assertGreater(rgcn["testAccuracy"], sage["testAccuracy"] + 0.1)


PAPERS, CONNECTED, CLASSES = 600, 400, 4


class NothingOfAType(Scenario):
    """A graph without authors, without edges from authors and without edges of one relation of papers; training, validation
    and test nodes include papers without edges."""

    def setUp(self):
        super().setUp()
        rng = np.random.default_rng(8)
        self.graph = self.dir / "graph"
        self.graph.mkdir()
        labels = rng.integers(0, CLASSES, PAPERS)
        features = np.eye(CLASSES)[labels] + 0.2 * rng.normal(size=(PAPERS, CLASSES))
        connected, isolated = rng.permutation(CONNECTED), CONNECTED + rng.permutation(PAPERS - CONNECTED)
        arrays = {"paper-feat": features.astype(np.float32), "paper-label": labels,
                  "author-feat": np.zeros((0, 3), np.float32),
                  "cites": random_edges(rng, CONNECTED, CONNECTED, 3000),
                  "quotes": np.zeros((2, 0), np.int64), "writes": np.zeros((2, 0), np.int64)}
        for part, of_connected, of_isolated in zip(("train", "validation", "test"), np.split(connected, [200, 300]),
                                                   np.split(isolated, [100, 150])):
            arrays[part] = np.concatenate([of_connected, of_isolated])
        for name, array in arrays.items():
            np.save(self.graph / f"{name}.npy", array)
        (self.graph / "graph.yaml").write_text("""version: 1
name: nothing-of-a-type
nodes:
  - {type: author, count: 0, columns: {node-feat: author-feat.npy}}
  - {type: paper, columns: {node-feat: paper-feat.npy, node-label: paper-label.npy}}
edges:
  - {type: "author:writes:paper", ids: writes.npy}
  - {type: "paper:cites:paper", ids: cites.npy}
  - {type: "paper:quotes:paper", ids: quotes.npy}
splits:
  - {name: random, type: paper, train: train.npy, validation: validation.npy, test: test.npy}
""")
        self.labels, self.test = labels, arrays["test"]

    def train(self, name, partitions, *args, **changes):
        inputs = [{"nodeType": node_type, "features": ["node-feat"]} for node_type in ("author", "paper")]
        return self.run_job(job(
            self.graph, graph__partitions={"count": partitions, "algorithm": "METIS"},
            training__task={"type": "NodeClassification", "nodeType": "paper", "label": "node-label",
                            "split": "random"},
            training__inputs=inputs, training__model={"type": "RGCN", "hiddenSize": 16, "dropout": 0.1},
            training__epochs=20, output__save=["Model", "Embeddings", "Predictions"], **changes), name, *args)

    def by_id(self, folder):
        """Values of all papers in the order of original ids."""
        ids, values = np.load(folder / "ids.npy"), np.load(folder / "values.npy")
        self.assertEqual(sorted(ids.tolist()), list(range(PAPERS)))
        return values[np.argsort(ids)]

    def test_empty_types_pass_through_all_processes_and_outputs(self):
        one = self.train("one", 1)
        three = self.train("three", 3, "--access", "rpc", samplers={"replicas": 1})
        self.assertEqual(three["parametersDigest"], one["parametersDigest"])
        two = self.train("two", 3, "--access", "rpc", trainers={"replicas": 2, "threads": 1})
        for mine, theirs in zip(two["lossPerStep"], one["lossPerStep"], strict=True):
            self.assertLess(abs(mine - theirs), 1e-4 * abs(theirs))

        verified = espalier("verify", self.dir / "three/partitions")
        self.assertEqual(verified.returncode, 0, verified.stdout + verified.stderr)
        for name, result in (("three", three), ("two", two)):
            self.assertGreater(result["testAccuracy"], 0.7)
            classes = self.by_id(self.dir / name / "predictions/paper")
            isolated = self.test[self.test >= CONNECTED]
            self.assertEqual(len(isolated), 50)
            self.assertGreater((classes[isolated] == self.labels[isolated]).mean(), 0.7)
            accuracy = (classes[self.test] == self.labels[self.test]).mean()
            self.assertAlmostEqual(float(accuracy), result["testAccuracy"], places=6)
            embeddings = self.by_id(self.dir / name / "embeddings/paper")
            self.assertTrue(np.isfinite(embeddings).all())
            self.assertTrue(np.ptp(embeddings[isolated], axis=0).max() > 0)  # of their own features
