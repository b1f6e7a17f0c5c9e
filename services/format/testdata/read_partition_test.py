"""Opens the golden files (services/format/testing/tiny_graph.h) from Python and compares them with that graph."""

import json
import pathlib
import unittest

import numpy as np

import read_partition

FOLDER = pathlib.Path(__file__).parent / "tiny"


class ReadPartitionTest(unittest.TestCase):
    def setUp(self):
        self.graph = read_partition.Partitioning(FOLDER)

    def test_edges_are_the_graphs_in_the_declared_order(self):
        sources, destinations, ids = self.graph.edges("paper", "cites", "paper")
        # Sorted by (partition, original id) of the destination, then by (time, source, edge id).
        self.assertEqual(list(zip(ids, sources, destinations)),
                         [(5, 4, 0), (1, 0, 4), (3, 2, 1), (0, 0, 1), (6, 1, 1), (2, 2, 1), (4, 2, 1)])
        time = self.graph.edge_column("paper", "cites", "paper", "time")
        np.testing.assert_array_equal(time, np.array([5, 1, 7, -3, 7, 0, 5])[ids])
        sources, destinations, _ = self.graph.edges("author", "writes", "paper")
        self.assertEqual(set(zip(sources, destinations)), {(0, 0), (0, 1), (1, 1), (1, 4)})

    def test_directory_inverts_original_ids(self):
        for node_type in ("author", "paper"):
            original = self.graph.original_ids(node_type)
            np.testing.assert_array_equal(original[self.graph.global_ids(node_type)], np.arange(len(original)))

    def test_node_columns_round_trip_by_original_id(self):
        features = self.graph.node_column("paper", "feat")
        self.assertEqual(features.dtype, np.float32)
        np.testing.assert_array_equal(features, np.arange(10).reshape(5, 2) / 2)
        np.testing.assert_array_equal(self.graph.node_column("paper", "half"),
                                      np.array([0, -1, 0.25, 65504, 6], np.float16))
        np.testing.assert_array_equal(self.graph.node_column("paper", "label"), [2, 0, -1, 1, 2])
        np.testing.assert_array_equal(self.graph.node_column("paper", "is_new"), [True, False, False, True, True])
        np.testing.assert_array_equal(self.graph.node_column("author", "out_degree.writes.paper"), [2, 2, 0])

    def test_splits_round_trip_in_order(self):
        self.assertEqual(self.graph.split("public", "paper", "train").tolist(), [0, 1, 3])
        self.assertEqual(self.graph.split("public", "paper", "validation").tolist(), [4])
        self.assertEqual(self.graph.split("public", "paper", "test").tolist(), [])

    def test_results_open_with_numpy(self):
        manifest = json.loads((FOLDER / "results/embeddings/manifest.json").read_text())
        self.assertEqual(manifest["format"], "espalier.node-results")
        for entry in manifest["node_types"]:
            ids = np.load(FOLDER / "results/embeddings" / entry["ids"]["file"])
            values = np.load(FOLDER / "results/embeddings" / entry["values"]["file"])
            self.assertEqual(len(ids), entry["rows"])
            self.assertEqual(list(values.shape), entry["values"]["shape"])
            np.testing.assert_array_equal(values, np.arange(10, dtype=np.float32).reshape(5, 2) / 2)

    @unittest.skipIf(read_partition.safetensors is None, "the safetensors package is not installed")
    def test_safetensors_reads_the_same(self):
        from safetensors import safe_open
        for path in sorted(FOLDER.glob("*/part-*/*.safetensors")):
            expected, metadata = read_partition.parse_safetensors(path)
            with safe_open(path, framework="numpy") as file:
                self.assertEqual(set(file.keys()), set(expected))
                self.assertEqual(file.metadata(), metadata)
                for name, tensor in expected.items():
                    found = file.get_tensor(name)
                    self.assertEqual(found.dtype, tensor.dtype, name)
                    np.testing.assert_array_equal(found, tensor)


if __name__ == "__main__":
    unittest.main(verbosity=2)
