"""Tests the parts of espalier.dgl that need no PyTorch; pinned/test_dgl.py tests the others."""

import json
import os
import pathlib
import subprocess
import sys
import unittest
from unittest import mock

import numpy as np

import espalier as ep
import espalier.dgl as dgl
import graphs

WRITES = ("author", "writes", "paper")


def cora():
    """Returns Cora as a graph of dgl.graph."""
    data = graphs.Cora()
    g = dgl.graph((data.edges[0], data.edges[1]), num_nodes=data.num_nodes)
    g.ndata["feat"], g.ndata["label"] = data.features, data.labels
    for name, ids in ("train_mask", data.train), ("val_mask", data.validation), ("test_mask", data.test):
        g.ndata[name] = np.isin(np.arange(data.num_nodes), ids)
    g.edata["number"] = np.arange(g.num_edges())
    return data, g


class PartitionGraph(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = graphs.make_folder()
        cls.data, cls.graph = cora()
        dgl.distributed.partition_graph(cls.graph, "cora", 2, cls.folder)

    def test_the_part_config_names_partitions_with_the_columns_given(self):
        config = json.loads((self.folder / "cora.json").read_text())
        g = ep.DistGraph(self.folder / config["partitions"])
        self.assertEqual((g.ntypes, g.canonical_etypes), (["_N"], [("_N", "_E", "_N")]))
        self.assertEqual((config["num_parts"], config["num_nodes"], config["num_edges"]), (2, 2708, 10556))
        ranges = g.get_partition_book().node_ranges()
        self.assertEqual(np.array(config["node_map"]["_N"])[:, 1].tolist(), ranges[1:].tolist())
        nodes = g.to_global_ids(np.arange(2708))
        np.testing.assert_array_equal(g.ndata["feat"][nodes], self.data.features)
        np.testing.assert_array_equal(g.ndata["train_mask"][nodes], self.graph.ndata["train_mask"])
        self.assertEqual(g.node_splits["_N", "masks"], {"train": 140, "validation": 500, "test": 1000})
        np.testing.assert_array_equal(
            graphs.pairs_of(g, g.find_edges(np.arange(10556))), self.data.edges.T[g.edata["number"][:]])
        self.assertEqual(g._core.num_partitions, 2)

    def test_a_second_call_replaces_the_first(self):
        folder = graphs.make_folder()
        small = dgl.graph((np.array([0, 1]), np.array([1, 2])))
        dgl.distributed.partition_graph(self.graph, "x", 2, folder, balance_edges=True)
        dgl.distributed.partition_graph(small, "x", 1, folder, part_method="random")
        config = json.loads((folder / "x.json").read_text())
        self.assertEqual((config["num_nodes"], config["num_parts"], config["part_method"]), (3, 1, "random"))
        self.assertEqual(ep.DistGraph(folder / config["partitions"]).num_edges(), 2)

    def test_the_algorithm(self):
        folder = graphs.make_folder()
        for method, algorithm in (("multilevel", "Multilevel"), ("streaming", "Streaming")):
            dgl.distributed.partition_graph(self.graph, method, 2, folder, part_method=method)
            config = json.loads((folder / f"{method}.json").read_text())
            self.assertEqual(config["part_method"], method)
            manifest = json.loads((folder / config["partitions"] / "manifest.json").read_text())
            self.assertEqual(manifest["algorithm"], algorithm)
            self.assertEqual(ep.DistGraph(folder / config["partitions"]).num_edges(), 10556)

    def test_what_is_balanced(self):
        mask = self.graph.ndata["train_mask"]
        for given, expected in ((None, []), (True, ["NodeTypes"]), (mask, ["TrainNodes"]),
                                ({"_N": mask.astype(np.uint8)}, ["TrainNodes"])):
            with mock.patch.object(ep, "partition", wraps=ep.partition) as partition:
                dgl.distributed.partition_graph(self.graph, "balanced", 2, self.folder, balance_ntypes=given,
                                                balance_edges=True)
            self.assertEqual(partition.call_args.kwargs["balance"], [*expected, "Edges"])
        for given in (self.graph.ndata["label"], self.graph.ndata["test_mask"], {"paper": mask}):
            with self.assertRaisesRegex(NotImplementedError, "^balance_ntypes by other classes than train_mask is not"):
                dgl.distributed.partition_graph(self.graph, "balanced", 2, self.folder, balance_ntypes=given)

    def test_the_partition_book_of_loaded_metadata(self):
        file = self.folder / "cora.json"
        metadata = json.loads(file.read_text()) | {"graph_name": "renamed"}
        for given, name in ((None, "cora"), (metadata, "renamed")):
            book, found, ntypes, etypes = dgl.distributed.load_partition_book(file, 1, given)
            self.assertEqual((book.num_partitions(), found, ntypes, etypes), (2, name, {"_N": 0}, {"_N:_E:_N": 0}))

    def test_graphs_of_several_types(self):
        folder = graphs.make_folder()
        g = dgl.heterograph({WRITES: (np.array([0, 1, 1]), np.array([0, 0, 2]))}, {"paper": 5})
        self.assertEqual((g.num_nodes("author"), g.num_nodes("paper"), g.num_edges("writes")), (2, 5, 3))
        g.nodes["paper"].data["year"] = np.arange(5)
        g.edges["writes"].data["weight"] = np.array([0.5, 1, 2], np.float32)
        dgl.distributed.partition_graph(g, "typed", 1, folder)
        made = ep.DistGraph(folder / json.loads((folder / "typed.json").read_text())["partitions"])
        np.testing.assert_array_equal(made.edges[WRITES].data["weight"][:], [0.5, 1, 2])
        np.testing.assert_array_equal(made.nodes["paper"].data["year"][:], np.arange(5))

    def test_refusals(self):
        with self.assertRaisesRegex(NotImplementedError, "num_hops=2"):
            dgl.distributed.partition_graph(self.graph, "y", 2, self.folder, num_hops=2)
        with self.assertRaisesRegex(NotImplementedError, "^num_trainers_per_machine=4 is not supported: node_split divides"):
            dgl.distributed.partition_graph(self.graph, "y", 2, self.folder, num_trainers_per_machine=4)
        with self.assertRaisesRegex(ep.InvalidArgument, "part_method 'best', objtype 'cut'; expected metis, "
                                    "multilevel, random or streaming, and cut or vol"):
            dgl.distributed.partition_graph(self.graph, "y", 2, self.folder, part_method="best")
        (self.folder / "mine").mkdir()
        (self.folder / "mine" / "notes.txt").write_text("keep")
        with self.assertRaises(ep.AlreadyExists):
            dgl.distributed.partition_graph(self.graph, "mine", 2, self.folder)


class Absent(unittest.TestCase):
    def test_every_absent_name_has_a_remedy(self):
        for get, words in ((lambda: dgl.DGLGraph, "DistGraph"), (lambda: dgl.distributed.rpc, "plugins"),
                           (lambda: dgl.dataloading.DataLoader, "DistNodeDataLoader"),
                           (lambda: dgl.sampling.random_walk, "espalier.random_walk"),
                           (lambda: dgl.distributed.optim.SparseGradOptimizer, "SparseAdagrad"),
                           (lambda: dgl.nothing, "coming-from-dgl.md"),
                           (lambda: dgl.distributed.nothing, "coming-from-dgl.md")):
            with self.assertRaisesRegex(AttributeError, words):
                get()

    def test_samplers_refuse_unsupported_options(self):
        for make in (lambda: dgl.dataloading.NeighborSampler([2], prefetch_edge_feats=["x"]),
                     lambda: dgl.dataloading.LaborSampler([2], importance_sampling=1),
                     lambda: dgl.dataloading.as_edge_prediction_sampler(None, prefetch_labels=["x"])):
            with self.assertRaises(NotImplementedError):
                make()
        with self.assertRaisesRegex(ep.InvalidArgument, "prob or mask"):
            dgl.dataloading.NeighborSampler([2], prob="a", mask="b")

    def test_without_a_graph(self):
        with mock.patch.dict(os.environ):
            for name in "ESPALIER_SERVERS", "ESPALIER_PARTITIONS":
                os.environ.pop(name, None)
            with self.assertRaisesRegex(ep.InvalidArgument, "give part_config"):
                dgl.distributed.DistGraph("cora")
            with self.assertRaisesRegex(ep.NotFound, "no part_config"):
                dgl.distributed.DistGraph("cora", part_config="/nonexistent/cora.json")
        folder = graphs.make_folder()
        (folder / "dgl.json").write_text(json.dumps({"graph_name": "cora", "part-0": {}}))
        with self.assertRaisesRegex(ep.InvalidArgument, "partition_graph"):
            dgl.distributed.DistGraph("cora", part_config=folder / "dgl.json")


class Initialize(unittest.TestCase):
    def test_a_process_that_is_alone_gets_the_variables_of_torch(self):
        with mock.patch.dict(os.environ):
            for name in "RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "ESPALIER_SERVERS":
                os.environ.pop(name, None)
            dgl.distributed.initialize("ip_config.txt")
            self.assertEqual((os.environ["RANK"], os.environ["WORLD_SIZE"]), ("0", "1"))
            port = os.environ["MASTER_PORT"]
            dgl.distributed.initialize("ip_config.txt")  # its variables are already set
            self.assertEqual(os.environ["MASTER_PORT"], port)

    def test_servers_of_dgl_are_refused(self):
        with mock.patch.dict(os.environ, {"DGL_ROLE": "server"}), self.assertRaises(ep.FailedPrecondition):
            dgl.distributed.initialize("ip_config.txt")

    def test_it_imports_nothing_but_numpy(self):
        package = pathlib.Path(ep.__file__).parent.parent
        code = "import sys, espalier.dgl; print('torch' in sys.modules)"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                              env={**os.environ, "PYTHONPATH": str(package)})
        self.assertEqual(done.stdout.strip(), "False")


if __name__ == "__main__":
    unittest.main()
