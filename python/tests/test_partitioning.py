"""Tests writing graphs from memory to files, and partitioning them."""

import unittest

import numpy as np

import espalier as ep
import graphs

CITES = ("paper", "cites", "paper")
WRITES = ("author", "writes", "paper")


class WriteAndPartition(unittest.TestCase):
    def setUp(self):
        self.folder = graphs.make_folder()

    def write(self, **changes):
        rng = np.random.default_rng(1)
        self.cites = rng.integers(0, 40, (2, 150))
        self.writes = np.stack([rng.integers(0, 9, 60), rng.integers(0, 40, 60)]).astype(np.int32)
        self.feat = rng.normal(size=(40, 3)).astype(np.float32)
        given = {"nodes": {"paper": (40, {"feat": self.feat}), "author": (9, {})},
                 "edges": {CITES: (*self.cites, {"number": np.arange(150)}), WRITES: (*self.writes, {}),
                           ("author", "knows", "author"): (np.zeros(0, int), np.zeros(0, int), {})},
                 "splits": [{"name": "s", "type": "paper", "train": np.arange(40) < 10, "test": np.array([30, 31])},
                            {"name": "links", "edge_type": CITES, "train": np.array([3, 1])}], **changes}
        ep.write_graph(self.folder / "graph", "small", **given)

    def test_the_written_graph_is_partitioned(self):
        self.write()
        for count in 1, 3:
            folder = ep.partition(self.folder / "graph", self.folder / "parts", count=count, algorithm="Random")
            g = ep.DistGraph(folder)
            self.assertEqual((g.name, g._core.num_partitions), ("small", count))
            self.assertEqual((g.num_nodes("paper"), g.num_nodes("author")), (40, 9))
            self.assertEqual([g.num_edges(etype) for etype in (CITES, WRITES, "knows")], [150, 60, 0])
            np.testing.assert_array_equal(g.nodes["paper"].data["feat"][g.to_global_ids(np.arange(40), "paper")],
                                          self.feat)
            self.assertEqual(g.node_splits["paper", "s"], {"train": 10, "validation": 0, "test": 2})
            self.assertEqual(g.edge_splits[CITES, "links"]["train"], 2)
            for etype, edges in (CITES, self.cites), (WRITES, self.writes):
                found = graphs.pairs_of(g, g.find_edges(np.arange(g.num_edges(etype)), etype), etype[0], etype[2])
                original = ep.partitioning.original_edge_ids(folder, etype)
                np.testing.assert_array_equal(found, edges.T[original])
            np.testing.assert_array_equal(g.edges[CITES].data["number"][:],
                                          ep.partitioning.original_edge_ids(folder, CITES))
            self.assertEqual(folder, ep.partition(self.folder / "graph", self.folder / "parts", count=count,
                                                  algorithm="Random"))

    def test_mismatches_are_refused(self):
        with self.assertRaisesRegex(ep.InvalidArgument, "'feat' of paper has shape .*; it needs 40 rows"):
            self.write(nodes={"paper": (40, {"feat": np.zeros((39, 3))}), "author": (9, {})})
        with self.assertRaisesRegex(ep.InvalidArgument, "is not empty"):
            ep.write_graph(self.folder, "x", {}, {})

    def test_errors_are_those_of_the_program(self):
        self.write(edges={CITES: (np.array([0]), np.array([44]), {})}, splits=[])
        with self.assertRaisesRegex(ep.InvalidArgument, "44") as raised:
            ep.partition(self.folder / "graph", self.folder / "parts")
        self.assertEqual(raised.exception.exit_code, 65)


if __name__ == "__main__":
    unittest.main()
