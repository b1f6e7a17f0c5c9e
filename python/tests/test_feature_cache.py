"""Tests loaders with a feature cache: the batches of loaders without one, and fewer rows from graph servers."""

import unittest

import numpy as np

import espalier as ep
import graphs
from graphs import CITES, WRITES

PLENTY = 64 << 20
NONE = {"hit_rows": 0, "fetched_rows": 0, "saved_bytes": 0, "fetched_bytes": 0, "held_bytes": 0}


def setUpModule():
    global served
    folder = graphs.make_folder()
    source = graphs.Publications().write(folder / "publications")
    partitions = graphs.partition(source, "NPY", 2, folder)
    servers = unittest.enterModuleContext(ep.serve(partitions))
    served = ep.DistGraph(servers=servers.addresses, environment={"ESPALIER_ACCESS": "rpc"})


def sampler(**options):
    return ep.NeighborSampler([{WRITES: 3, CITES: 3}] * 2,
                              prefetch_node_feats={"author": ["feat"], "paper": ["feat", "year"]},
                              prefetch_labels={"paper": ["label"]}, **options)


def nodes_loader(**options):
    return ep.DistNodeDataLoader(served, ep.NodesOfSplit("random", "train", "paper"), sampler(), batch_size=9, seed=3,
                                 **options)


def edges_loader(**options):
    return ep.DistEdgeDataLoader(served, ep.EdgesOfSplit("rated", "train", WRITES), sampler(), batch_size=40, seed=3,
                                 negative_sampler=ep.negative_sampler.Uniform(2), **options)


def content(batch):
    """Returns the ids, blocks and prefetched columns of a batch."""
    found = [batch.epoch, batch.step]
    for block in batch.blocks:
        for etype in (WRITES, CITES):
            found += [array.tolist() for array in block.csc(etype)]
    for data in (batch.blocks[0].srcdata, batch.blocks[-1].dstdata):
        for name in sorted(data):
            rows = data[name]
            found.append([(name, ntype, rows[ntype].tolist()) for ntype in sorted(rows)] if isinstance(rows, dict)
                         else (name, rows.tolist()))
    return found


def epochs(loader, count):
    return [[content(batch) for batch in loader] for _ in range(count)]


class FeatureCache(unittest.TestCase):
    def test_the_batches_of_nodes_are_those_without_a_cache(self):
        self.check(nodes_loader, 8)

    def test_the_batches_of_edges_are_those_without_a_cache(self):
        self.check(edges_loader, 8)

    def check(self, make, num_batches):
        without = make()
        expected = epochs(without, 3)
        self.assertEqual([len(epoch) for epoch in expected], [num_batches] * 3)
        self.assertEqual(without.feature_cache_counts(), NONE)
        counts = {}
        for memory in (PLENTY, 8 << 10):
            loader = make(feature_cache=memory, feature_cache_steps=4)
            self.assertEqual(epochs(loader, 3), expected)
            counts[memory] = loader.feature_cache_counts()
            self.assertLessEqual(counts[memory]["held_bytes"], memory)
            self.assertGreater(counts[memory]["hit_rows"], 0)
        most, least = counts[PLENTY], counts[8 << 10]
        self.assertEqual(most["hit_rows"] + most["fetched_rows"], least["hit_rows"] + least["fetched_rows"])
        self.assertLess(most["fetched_rows"], least["fetched_rows"])
        self.assertLessEqual(most["fetched_rows"], graphs.AUTHORS + graphs.PAPERS)  # each row once in all epochs
        self.assertGreater(most["saved_bytes"], most["fetched_bytes"])

    def test_an_epoch_that_is_left_early(self):
        expected = epochs(nodes_loader(), 2)
        loader = nodes_loader(feature_cache=PLENTY)
        self.assertEqual(content(next(iter(loader))), expected[0][0])
        self.assertEqual([content(batch) for batch in loader], expected[1])

    def test_nothing_is_kept_of_mapped_partitions(self):
        folder = graphs.make_folder()
        g = ep.DistGraph(graphs.partition(graphs.CORA, "OGB", 2, folder))
        loader = ep.DistNodeDataLoader(g, ep.NodesOfSplit("public", "train"),
                                       ep.NeighborSampler([3], prefetch_node_feats="node-feat"), batch_size=70,
                                       feature_cache=PLENTY)
        for batch in loader:
            np.testing.assert_array_equal(batch.blocks[0].srcdata["node-feat"], g.ndata["node-feat"][batch.input_nodes])
        self.assertEqual(loader.feature_cache_counts(), NONE)

    def test_a_tensor_is_never_stale(self):
        tensor = ep.DistTensor.create(served, (1,), name="changing", ntype="paper")
        served.nodes["paper"].data["changing"] = tensor
        loader = ep.DistNodeDataLoader(
            served, ep.NodesOfSplit("random", "train", "paper"),
            ep.NeighborSampler([{CITES: 3}], prefetch_node_feats={"paper": ["feat", "changing"]}), batch_size=70,
            feature_cache=PLENTY)
        for epoch in range(2):
            tensor[np.arange(graphs.PAPERS)] = np.full((graphs.PAPERS, 1), epoch, np.float32)
            for batch in loader:
                self.assertEqual(set(batch.blocks[0].srcdata["changing"]["paper"].ravel().tolist()), {epoch})

    def test_refusals(self):
        with self.assertRaisesRegex(ep.InvalidArgument, "^feature_cache has no rows to keep: the sampler's "
                                    "prefetch_node_feats names no column of the graph; name the columns there, or omit "
                                    "feature_cache$"):
            ep.DistNodeDataLoader(served, ep.NodesOfSplit("random", "train", "paper"), ep.NeighborSampler([{CITES: 3}]),
                                  batch_size=9, feature_cache=PLENTY)
        for options in ({"feature_cache": -1}, {"feature_cache": PLENTY, "feature_cache_steps": 0},
                        {"feature_cache": PLENTY, "feature_cache_steps": 1001}):
            with self.assertRaisesRegex(ep.InvalidArgument, "feature_cache"):
                nodes_loader(**options)
