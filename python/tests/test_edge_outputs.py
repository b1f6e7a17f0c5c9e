"""Tests predictions of edges that Python writes: the files have the layout of those of a job's trainers, by ids of the
input graph."""

import json
import sys
import unittest

import numpy as np

import espalier as ep
import graphs
from graphs import CITES, WRITES
from test_outputs import files_of

PARTS = ("train", "validation", "test")


def setUpModule():
    global folder, arrays, publications
    folder = graphs.make_folder()
    arrays, publications = graphs.open_publications(folder)


def rated(*parts):
    return {part: ep.EdgesOfSplit("rated", part, WRITES) for part in parts}


def known_outputs(pairs):
    """Returns known outputs for pairs of original ids [n, 2]: float32 [n, 3]."""
    return np.stack([pairs[:, 0] - pairs[:, 1], pairs[:, 1] % 7, pairs[:, 0] % 5], 1).astype(np.float32)


def outputs_of(g, calls=None):
    """Returns a function from the endpoints of edges of WRITES to their outputs."""
    def outputs(sources, destinations):
        if calls is not None:
            calls.append(len(sources))
        return known_outputs(graphs.pairs_of(g, (sources, destinations), "author", "paper"))
    return outputs


class EdgeOutputs(unittest.TestCase):
    def setUp(self):
        self.uri = folder / self.id().rpartition(".")[2]

    def write(self, g, edges, outputs, **options):
        ep.write_edge_predictions(g, edges, outputs, uri=self.uri, **options)

    def check(self, part, pairs, expected, kind="predictions"):
        """Expects that a part has these pairs of original ids in this order, and these values."""
        *ends, values = getattr(ep.Results(self.uri), kind)(part)
        np.testing.assert_array_equal(np.stack(ends, 1), pairs)
        np.testing.assert_array_equal(values, expected)
        self.assertEqual(values.dtype, expected.dtype)

    def verify(self):
        process = graphs.espalier("verify", self.uri)
        self.assertEqual(process.returncode, 0, process.stdout + process.stderr)

    def test_files_match_those_of_a_job(self):
        job = {"apiVersion": "espalier.io/v1alpha1", "kind": "DistTraining", "metadata": {"name": "rated"}, "spec": {
            "graph": {"source": {"uri": str(folder / "publications"), "format": "NPY"}, "partitions": {"count": 2}},
            "training": {"task": {"type": "EdgeClassification", "edgeType": ":".join(WRITES), "label": "number",
                                  "split": "rated"},
                         "inputs": [{"nodeType": ntype, "features": ["feat"]} for ntype in ("author", "paper")],
                         "model": {"type": "GraphSAGE", "hiddenSize": 16}, "sampling": {"layers": [{"fanout": 5}]},
                         "batchSize": 64, "epochs": 1},
            "output": {"save": ["Predictions"]}}}
        results = ep.run(job, folder / "job", progress=False)
        g = ep.DistGraph(results.partitions)
        attributes = files_of(results.folder, "predictions")[1]["attributes"]
        self.write(g, rated(*PARTS), {part: results.logits(part)[2] for part in PARTS}, attributes=attributes)
        for kind in ("predictions", "logits"):
            written = self.uri / "results/000001"
            self.assertEqual(files_of(written, kind), files_of(results.folder, kind))
            for part in PARTS:
                for found, expected in zip(getattr(ep.Results(self.uri), kind)(part), getattr(results, kind)(part)):
                    np.testing.assert_array_equal(found, expected)
        self.verify()

    def test_a_function_of_both_ends(self):
        for count, g in publications.items():
            with self.subTest(count):
                calls = []
                self.write(g, rated("train", "test"), outputs_of(g, calls))
                self.assertEqual(calls, [300, 50])
                for part in ("train", "test"):
                    pairs = arrays.edges[WRITES].T[arrays.rated[part]]  # in the order of the user's files
                    outputs = known_outputs(pairs)
                    self.check(part, pairs, outputs.argmax(axis=1))
                    self.check(part, pairs, outputs, "logits")
                manifest = files_of(self.uri / "results/000001", "logits")[1]
                self.assertEqual((manifest["format"], manifest["edge_type"], manifest["split"]),
                                 ("espalier.edge-results", ":".join(WRITES), "rated"))
                self.verify()

    def test_many_edges_are_written_in_pieces(self):
        g, rng = publications[2], np.random.default_rng(3)
        pairs = np.stack([rng.integers(0, graphs.AUTHORS, 40000), rng.integers(0, graphs.PAPERS, 40000)], 1)
        ends = g.to_global_ids(pairs[:, 0], "author"), g.to_global_ids(pairs[:, 1], "paper")
        calls = []
        self.write(g, {"candidates": ends}, outputs_of(g, calls), etype=WRITES, task="regression")
        self.assertEqual(calls, [16384, 16384, 40000 - 2 * 16384])
        self.check("candidates", pairs, known_outputs(pairs))

    def test_scores_of_chosen_links(self):
        g = publications[3]
        pairs = np.array([[4, 7], [0, 0], [4, 7]])  # need not be edges, and may repeat
        ends = g.to_global_ids(pairs[:, 0], "author"), g.to_global_ids(pairs[:, 1], "paper")
        self.write(g, {"chosen": ends, "none": ([], [])}, {"chosen": [0.5, 0.25, 0.5], "none": np.zeros((0, 2))},
                   etype="writes", task="regression")
        self.check("chosen", pairs, np.array([0.5, 0.25, 0.5], np.float32))
        self.check("none", np.zeros((0, 2)), np.zeros((0, 2), np.float32))
        self.assertEqual(files_of(self.uri / "results/000001", "predictions")[1]["split"], "")
        self.verify()

    def test_a_tensor_of_the_edges(self):
        g = publications[2]
        rows = ep.DistTensor.create(g, (3,), etype=WRITES)
        numbers = g.edges[WRITES].data["number"][:]
        rows[:] = known_outputs(arrays.edges[WRITES].T[numbers])
        chosen = np.random.default_rng(1).permutation(len(numbers))[:50]
        own = ep.DistTensor.create(g, (50, 3))  # one row for each edge
        own[:] = rows[chosen]
        pairs = arrays.edges[WRITES].T[numbers[chosen]]
        for outputs in rows, own, {"mine": rows}:
            self.write(g, {"mine": chosen}, outputs, etype=WRITES, task="multilabel")
            self.check("mine", pairs, (known_outputs(pairs) > 0).astype(np.uint8))
            self.check("mine", pairs, known_outputs(pairs), "logits")

    def test_predictions_of_nodes_are_replaced(self):
        g = publications[2]
        tensor = ep.DistTensor.create(g, (3,), ntype="paper")
        ep.write_embeddings(g, tensor, uri=self.uri)
        ep.write_predictions(g, tensor, uri=self.uri)
        self.write(g, rated("test"), outputs_of(g), task="regression")
        files = json.loads((self.uri / "manifest.json").read_text())["files"]
        self.assertEqual({file["key"].split("/")[2] + "/" + file["key"].split("/")[3] for file in files},
                         {"embeddings/paper", "embeddings/manifest.json", "predictions/test", "predictions/manifest.json"})
        self.assertFalse((self.uri / "results/000001/predictions/paper/ids.npy").exists())
        self.verify()

    def test_refusals(self):
        g = publications[2]
        outputs, edges = outputs_of(g), rated("test")
        of_nodes = ep.DistTensor.create(g, (3,), name="of-nodes", ntype="paper")
        of_cites = ep.DistTensor.create(g, (3,), name="of-cites", etype=CITES)
        of_writes = ep.DistTensor.create(g, (3,), name="of-writes", etype=WRITES)
        for words, given, rows, options in (
                ("task must be 'classification', 'multilabel', 'regression', not 'ranking'", edges, outputs,
                 {"task": "ranking"}),
                ("edges must be an EdgesOfSplit, or {part: edges} with at least one part", {}, outputs, {}),
                ("edges must be an EdgesOfSplit, or {part: edges} with at least one part", [1, 2], outputs, {}),
                ("edges of more than one edge type", edges, outputs, {"etype": CITES}),
                ("edges of more than one split", edges | {"more": ep.EdgesOfSplit("linked")}, outputs, {}),
                ("edges of 'mine' are a tuple of 1", {"mine": ([1],)}, outputs, {"etype": WRITES}),
                ("2 sources and 1 destinations of 'mine'", {"mine": ([1, 2], [1])}, outputs, {"etype": WRITES}),
                ("outputs are of 'mine', and edges of 'test'", edges, {"mine": outputs}, {}),
                ("'of-nodes' has rows of nodes; a function can compute", edges, of_nodes, {}),
                ("'of-cites' has rows of another edge type than 'mine'", {"mine": [1]}, of_cites, {"etype": WRITES}),
                ("'of-writes' has a row for each edge, and edges of 'test' are not given by their ids", edges, of_writes,
                 {}),
                ("outputs of 'test' have shape [2, 3]; expected a row for each of 50 edges", edges, np.ones((2, 3)), {}),
                ("outputs of 'test' are float64 [50] for 50 edges; expected floats [edges, classes or targets]", edges,
                 np.ones(50), {}),
                ("outputs of 'test' are int64 [50, 1] for 50 edges", edges, np.ones((50, 1), int), {}),
                ("outputs of 'test' are float32 [49] for 50 edges; expected floats [edges, classes or targets], or "
                 "[edges]", edges, lambda sources, destinations: np.ones(49, np.float32), {"task": "regression"}),
                ("part '../test' is not a name", {"../test": [1]}, outputs, {"etype": WRITES}),
                ("the graph has several edge types, name one", {"mine": [1]}, outputs, {})):
            with self.subTest(words), self.assertRaises(ep.InvalidArgument) as caught:
                self.write(g, given, rows, **options)
            self.assertIn(words, str(caught.exception))
        with self.assertRaisesRegex(ep.NotFound, "unrated"):
            self.write(g, ep.EdgesOfSplit("unrated", "test", WRITES), outputs)
        with self.assertRaisesRegex(ep.InvalidArgument, "no job has set ESPALIER_OUTPUT"):
            ep.write_edge_predictions(g, edges, outputs)
        self.assertFalse((self.uri / "manifest.json").exists())


class Ranks(unittest.TestCase):
    def test_ranks_of_a_job(self):
        output = folder / "ranks"
        sets = [word for setting in (f"graph.source.uri={graphs.CORA}", "graph.source.format=OGB",
                                     "graph.partitions.count=2", "trainers.replicas=2", "runPolicy.backoffLimit=0")
                for word in ("--set", setting)]
        process = graphs.espalier("run", *sets, "--output", output, "--quiet", "--", sys.executable,
                                  graphs.SCRIPTS / "ranks.py", "edge_outputs")
        logs = "".join(log.read_text() for log in sorted((output / "logs").glob("trainer-*.log")))
        self.assertEqual(process.returncode, 0, process.stdout + process.stderr + logs)
        sources, destinations, scores = ep.Results(output).predictions("chosen")
        self.assertEqual(len(scores), -(-10556 // 3))
        np.testing.assert_array_equal(scores, (sources - 2 * destinations).astype(np.float32))
        self.assertTrue(set(zip(sources.tolist(), destinations.tolist())) <= graphs.Cora().pairs)
        self.assertEqual(graphs.espalier("verify", output).returncode, 0)


if __name__ == "__main__":
    unittest.main()
