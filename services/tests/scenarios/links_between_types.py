"""Link prediction between users and items: the same numbers over any partitions and transports, chosen relations,
embeddings of both node types."""

import numpy as np
from harness import Scenario, job

USERS, ITEMS, TASTES, SALES = 120, 200, 5, 10
GRAPH = """version: 1
name: shop
nodes:
  - {type: item, columns: {x: x.npy}}
  - {type: user, count: %d}
edges:
  - {type: [item, similar, item], ids: similar.npy}
  - {type: [user, buys, item], ids: buys.npy}
splits:
  - {name: sales, edge_type: [item, similar, item], train: similar-train.npy, validation: similar-validation.npy,
     test: similar-test.npy}
  - {name: sales, edge_type: [user, buys, item], train: buys-train.npy, validation: buys-validation.npy,
     test: buys-test.npy}
"""


def write_shop(folder):
    """Writes a graph in which users buy items of their taste, and an item is similar to the next one of its taste. Of
    ten edges, one is for validation and one for testing."""
    folder.mkdir()
    random = np.random.default_rng(0)
    users = np.repeat(np.arange(USERS), SALES)
    picks = np.concatenate([random.permutation(ITEMS // TASTES)[:SALES] for _ in range(USERS)])
    items = np.arange(ITEMS)
    edges = {"buys": np.stack([users, users % TASTES + TASTES * picks]),
             "similar": np.stack([items, (items + TASTES) % ITEMS])}
    for relation, ends in edges.items():
        np.save(folder / f"{relation}.npy", np.ascontiguousarray(ends.astype(np.int64)))
        place = random.permutation(ends.shape[1]) % 10
        for part, of_part in (("train", place > 1), ("validation", place == 0), ("test", place == 1)):
            np.save(folder / f"{relation}-{part}.npy", np.flatnonzero(of_part))
    np.save(folder / "x.npy", random.normal(size=(ITEMS, 8)).astype(np.float32))
    (folder / "graph.yaml").write_text(GRAPH % USERS)
    return {relation: ends.shape[1] for relation, ends in edges.items()}


class LinksBetweenTypes(Scenario):
    def setUp(self):
        super().setUp()
        self.num_edges = write_shop(self.dir / "shop")
        self.counter = 0

    def train(self, *args, partitions=4, trainers=1, samplers=0, edge_types=("buys", "rev_buys"), **task):
        self.counter += 1
        self.output = self.dir / f"run-{self.counter}"
        task = {"type": "LinkPrediction", "split": "sales", "negatives": {"type": "Joint", "count": 16},
                "scorer": "DistMult", "loss": "CrossEntropy"} | task
        if edge_types:
            task["edgeTypes"] = list(edge_types)
        document = job(self.dir / "shop", graph__preprocess={"addReverseEdges": True},
                       graph__partitions={"count": partitions, "algorithm": "METIS"}, training__task=task,
                       training__inputs=[{"nodeType": "item", "features": ["x"]},
                                         {"nodeType": "user", "embedding": {"size": 8}}],
                       training__epochs=4, training__evaluation={"everyEpochs": 4, "metric": "MRR"},
                       trainers__replicas=trainers, samplers__replicas=samplers,
                       output={"save": ["Model", "Embeddings"]})
        return self.run_job(document, self.output.name, *args)

    def test_partitions_and_transports_change_no_bit(self):
        one = self.train("--audit", partitions=1)
        for access in ("mapped", "rpc"):
            four = self.train("--audit", "--access", access)
            for number in ("samplesDigest", "parametersDigest", "lossPerStep", "testMrr"):
                self.assertEqual(four[number], one[number], number)
        # Partitions contain no held-out sales and no reverses of them. They contain all edges between similar items,
        # which are not predicted.
        measured = 2 * (self.num_edges["buys"] // 10)
        self.assertEqual(one["edges"], 2 * (sum(self.num_edges.values()) - measured))
        for node_type, count in (("user", USERS), ("item", ITEMS)):
            values = np.load(self.output / "embeddings" / node_type / "values.npy")
            self.assertEqual(values.shape, (count, 16))

    def test_samplers_draw_the_same_as_trainers(self):
        for trainers in (1, 2):
            none = self.train("--audit", trainers=trainers)
            for samplers in (1, 3):
                some = self.train("--audit", "--access", "rpc", trainers=trainers, samplers=samplers)
                for number in ("samplesDigest", "parametersDigest", "lossPerStep", "testMrr"):
                    self.assertEqual(some[number], none[number], number)

    def test_two_trainers_make_the_same_steps(self):
        for negatives in ("Joint", "Uniform", "InBatch"):
            task = {"negatives": {"type": negatives, "count": 8}}
            one, two = self.train(**task), self.train(trainers=2, **task)
            for mine, theirs in zip(two["lossPerStep"], one["lossPerStep"], strict=True):
                self.assertLess(abs(mine - theirs), 1e-3 * abs(theirs))
            self.assertAlmostEqual(two["testMrr"], one["testMrr"], delta=0.05)

    def test_every_edge_type_is_predicted_where_none_is_chosen(self):
        result = self.train(edge_types=())
        measured = sum(2 * (count // 10) for count in self.num_edges.values())
        self.assertEqual(result["edges"], 2 * (sum(self.num_edges.values()) - measured))
        self.assertGreater(result["testMrr"], 0)
        self.assertLess(result["testMrr"], 1)
