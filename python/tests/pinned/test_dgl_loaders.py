"""Tests loaders of espalier.dgl, and partitions that it writes and reads, in one process."""

import os
import subprocess
import sys
import unittest
from unittest import mock

import numpy as np
import torch

import espalier as ep
import espalier.dgl as dgl
import graphs
from espalier.dgl.dataloading import DistDataLoader, DistEdgeDataLoader, DistNodeDataLoader, NeighborSampler
from graphs import CITES, LIKES_AUTHORS, WRITES


def opened(partitions):
    with mock.patch.dict(os.environ, ESPALIER_PARTITIONS=str(partitions)):
        return dgl.distributed.DistGraph("any name")


def setUpModule():
    global cora, g, typed, publications
    folder = graphs.make_folder()
    cora, publications = graphs.Cora(), graphs.Publications()
    typed = opened(graphs.partition(publications.write(folder / "publications"), "NPY", 2, folder / "typed"))
    g = opened(graphs.partition(graphs.CORA, "OGB", 2, folder))


def train_nodes():
    return dgl.distributed.node_split(g.ndata["train_mask"], g.get_partition_book())


class Nodes(unittest.TestCase):
    def test_batches_equal_those_of_espalier(self):
        dgl.seed(3)
        sampler = NeighborSampler([4, 3], prefetch_node_feats=["node-feat"], prefetch_labels=["node-label"])
        loader = DistNodeDataLoader(g, train_nodes(), sampler, batch_size=64, shuffle=True)
        expected = ep.DistNodeDataLoader(g, ep.NodesOfSplit("public"), ep.NeighborSampler([4, 3], edge_ids=True),
                                         batch_size=64, seed=3)
        self.assertEqual((len(loader), len(expected)), (3, 3))
        for _ in range(2):
            for (inputs, outputs, blocks), batch in zip(loader, expected, strict=True):
                np.testing.assert_array_equal(inputs, batch.input_nodes)
                np.testing.assert_array_equal(outputs, batch.output_nodes)
                self.assertTrue(torch.equal(blocks[0].srcdata["node-feat"], g.ndata["node-feat"][inputs]))
                self.assertTrue(torch.equal(blocks[-1].dstdata["node-label"], g.ndata["node-label"][outputs]))
                for block, other in zip(blocks, batch.blocks, strict=True):
                    np.testing.assert_array_equal(block.edges(), other.edges())
                    np.testing.assert_array_equal(block.edata[dgl.EID], other.edge_ids())

    def test_lists_without_order_and_next(self):
        nodes = torch.tensor([5, 3, 8])
        loader = DistNodeDataLoader(g, nodes, dgl.dataloading.MultiLayerFullNeighborSampler(2), "cpu", batch_size=2)
        self.assertEqual([batch[1].tolist() for batch in loader], [[5, 3], [8]])
        self.assertEqual(next(loader)[1].tolist(), [5, 3])
        self.assertEqual(next(loader)[1].tolist(), [8])
        self.assertRaises(StopIteration, next, loader)
        degrees = next(iter(loader))[2][-1].in_degrees()
        self.assertEqual(degrees.tolist(), g.in_degrees([5, 3]).tolist())

    def test_a_node_that_repeats_within_a_batch_is_one_seed(self):
        loader = DistNodeDataLoader(g, torch.tensor([5, 3, 5, 8]), NeighborSampler([2, 2]), batch_size=3)
        batches = list(loader)
        self.assertEqual([outputs.tolist() for _, outputs, _ in batches], [[5, 3], [8]])
        for inputs, outputs, blocks in batches:
            self.assertEqual(blocks[-1].dstdata[dgl.NID].tolist(), outputs.tolist())
            self.assertEqual(blocks[0].srcdata[dgl.NID].tolist(), inputs.tolist())
            self.assertEqual(blocks[0].num_dst_nodes(), blocks[1].num_src_nodes())

    def test_types(self):
        loader = DistNodeDataLoader(typed, {"paper": torch.tensor([1, 2])}, NeighborSampler([{WRITES: 2, CITES: 0}]),
                                    batch_size=2)
        (inputs, outputs, (block,)), = loader
        self.assertEqual(outputs["paper"].tolist(), [1, 2])
        self.assertEqual((block.num_edges(CITES), len(inputs["author"])), (0, block.num_src_nodes("author")))

    def test_the_samplers_device_and_the_queue(self):
        nodes, sampler = torch.tensor([5, 3, 8]), NeighborSampler([2, 2], output_device="meta")
        repeated = torch.tensor([5, 5, 3])  # the loader calls the sampler
        for nids, device, name in (nodes, None, "meta"), (nodes, "cpu", "cpu"), (repeated, None, "meta"):
            inputs, outputs, blocks = next(iter(DistNodeDataLoader(g, nids, sampler, device, batch_size=3)))
            found = [inputs, outputs, blocks[0].srcdata[dgl.NID], blocks[1].edges()[0]]
            self.assertEqual({tensor.device.type for tensor in found}, {name})
        _, pairs, blocks = next(iter(DistEdgeDataLoader(g, nodes, sampler, batch_size=3)))
        self.assertEqual((pairs.edges()[0].device.type, blocks[0].edges()[0].device.type), ("meta", "meta"))

        for make in DistNodeDataLoader, DistEdgeDataLoader:
            loader = make(g, nodes, NeighborSampler([2]), batch_size=1, queue_size=7)
            self.assertEqual((loader._settings.batches_ahead, len(list(loader))), (7, 3))
            with self.assertRaisesRegex(ep.InvalidArgument, "^queue_size must be at least 1 .*, not 0$"):
                make(g, nodes, NeighborSampler([2]), batch_size=1, queue_size=0)
            with self.assertRaisesRegex(ep.InvalidArgument, "^queue_size and batches_ahead are the same option"):
                make(g, nodes, NeighborSampler([2]), batch_size=1, queue_size=2, batches_ahead=2)

    def test_a_user_defined_sampler(self):
        class Own(dgl.dataloading.BlockSampler):
            def sample_blocks(self, graph, seeds, exclude_eids=None):
                self.excluded = exclude_eids
                block = dgl.to_block(dgl.distributed.in_subgraph(graph, seeds), seeds)
                return block.srcdata[dgl.NID], seeds, [block]

        for inputs, outputs, blocks in DistNodeDataLoader(g, torch.tensor([7, 1]), Own(), batch_size=1):
            self.assertEqual(blocks[0].in_degrees().tolist(), g.in_degrees(outputs).tolist())
        sampler = Own(prefetch_node_feats=["node-feat"], prefetch_labels="node-label")
        for inputs, outputs, (block,) in DistNodeDataLoader(g, torch.tensor([7, 1]), sampler, batch_size=1):
            self.assertTrue(torch.equal(block.srcdata["node-feat"], g.ndata["node-feat"][inputs]))
            self.assertTrue(torch.equal(block.dstdata["node-label"], g.ndata["node-label"][outputs]))
        self.assertIsNone(sampler.excluded)
        sampler.sample(g, torch.tensor([7]), [1])
        self.assertEqual(sampler.excluded, [1])

    def test_the_guides_sampler(self):
        sampler = NeighborSampler(g, [2, 3], dgl.distributed.sample_neighbors, torch.device("cpu"))
        loader = DistDataLoader(train_nodes().numpy(), 50, shuffle=True, collate_fn=sampler.sample_blocks)
        seeds = []
        for blocks in loader:
            self.assertLessEqual(int(blocks[1].in_degrees().max()), 2)  # the first fan-out is that of the seeds
            self.assertEqual(int(blocks[0].in_degrees().max()), 3)  # with replacement
            seeds += blocks[-1].dstdata[dgl.NID].tolist()
        self.assertEqual(sorted(seeds), sorted(train_nodes().tolist()))


class Edges(unittest.TestCase):
    def test_pairs_and_negatives(self):
        mask = torch.zeros(10556, dtype=torch.bool)
        mask[:300] = True
        edges = dgl.distributed.edge_split(mask, g.get_partition_book())
        negatives = dgl.dataloading.negative_sampler.Uniform(3)
        sampler = dgl.dataloading.as_edge_prediction_sampler(NeighborSampler([-1, -1]), exclude="reverse_id",
                                                             reverse_eids=None, negative_sampler=negatives)
        for loader in (DistEdgeDataLoader(g, edges, sampler, batch_size=100, shuffle=True),
                       DistEdgeDataLoader(g, edges, NeighborSampler([-1, -1]), batch_size=100, exclude="reverse_id",
                                          negative_sampler=negatives)):
            seen = []
            for inputs, pairs, drawn, blocks in loader:
                ids = pairs.edata[dgl.EID]
                nodes, ends = pairs.ndata[dgl.NID], g.find_edges(ids)
                self.assertTrue(all(torch.equal(nodes[rows], end) for rows, end in zip(pairs.edges(), ends)))
                self.assertEqual((drawn.num_edges(), pairs.num_nodes()), (3 * len(ids), blocks[-1].num_dst_nodes()))
                self.assertTrue(torch.equal(drawn.edges()[0].view(-1, 3)[:, 0], pairs.edges()[0]))
                seeds = set(map(tuple, torch.stack(ends, 1).tolist()))
                seeds |= {pair[::-1] for pair in seeds}
                for block in blocks:
                    sampled = torch.stack(g.find_edges(block.edata[dgl.EID]), 1)
                    self.assertFalse(seeds & set(map(tuple, sampled.tolist())))
                seen += ids.tolist()
            self.assertEqual(sorted(seen), list(range(300)))

    def test_pairs_that_are_uniform_at_both_ends(self):
        def draw(**options):
            negatives = dgl.dataloading.negative_sampler.GlobalUniform(20, **options)
            (_, _, drawn, _), = DistEdgeDataLoader(typed, {LIKES_AUTHORS: torch.arange(80)}, NeighborSampler([1]),
                                                   batch_size=80, negative_sampler=negatives)
            self.assertEqual(drawn.edata["valid"].shape, (drawn.num_edges(LIKES_AUTHORS),))
            return list(map(tuple, torch.stack(drawn.edges(LIKES_AUTHORS), 1).tolist()))

        drawn = draw(exclude_self_loops=False, replace=True)
        self.assertEqual(len(drawn), 20 * 80)
        without_loops = [pair for pair in drawn if pair[0] != pair[1]]
        distinct = list(dict.fromkeys(drawn))
        self.assertLess(len(without_loops), len(drawn))
        self.assertLess(len(distinct), len(drawn))
        self.assertEqual(draw(replace=True), without_loops)
        self.assertEqual(draw(exclude_self_loops=False), distinct)
        self.assertEqual(draw(), list(dict.fromkeys(without_loops)))  # DGL's defaults

    def test_edges_in_every_form(self):
        (_, pairs, _), = DistEdgeDataLoader(g, torch.arange(40), NeighborSampler([2]), batch_size=40)
        sources, destinations = pairs.edges()
        order = np.lexsort((destinations, sources))
        for found, expected in zip(pairs.edges("all", "srcdst"), (sources, destinations, torch.arange(40)), strict=True):
            np.testing.assert_array_equal(found, expected[order])
        self.assertEqual(pairs.to("meta", non_blocking=True).edges("eid").device.type, "meta")

    def test_scores_of_pairs(self):
        edges = torch.arange(40)
        (_, pairs, blocks), = DistEdgeDataLoader(g, edges, NeighborSampler([2]), batch_size=40)
        h = torch.randn(pairs.num_nodes(), 5)
        with pairs.local_scope():
            pairs.ndata["h"] = h
            pairs.apply_edges(dgl.function.u_dot_v("h", "h", "score"))
            sources, destinations = pairs.edges()
            torch.testing.assert_close(pairs.edata["score"][:, 0], (h[sources] * h[destinations]).sum(1))
        self.assertNotIn("h", pairs.ndata)

    def test_pairs_of_types(self):
        for edges in {WRITES: torch.arange(30)}, ep.EdgesOfSplit("rated", "train", WRITES):
            for _, pairs, blocks in DistEdgeDataLoader(typed, edges, NeighborSampler([2]), batch_size=100):
                ends_of = typed.find_edges(pairs.edata[dgl.EID], WRITES)
                for rows, ends, ntype in zip(pairs.edges(WRITES), ends_of, ("author", "paper")):
                    self.assertTrue(torch.equal(pairs.nodes[ntype].data[dgl.NID][rows], ends))


class Partitions(unittest.TestCase):
    def test_mapping_and_load_partition(self):
        folder = graphs.make_folder()
        graph = dgl.graph(tuple(torch.from_numpy(ends.copy()) for ends in cora.edges), num_nodes=2708)
        graph.ndata["feat"] = torch.from_numpy(cora.features)
        graph.edata["number"] = torch.arange(10556)
        nodes, edges = dgl.distributed.partition_graph(graph, "cora", 3, folder, return_mapping=True)
        config = folder / "cora.json"
        seen = []
        for part in range(3):
            local, node_feats, edge_feats, book, name, ntypes, etypes = dgl.distributed.load_partition(config, part)
            self.assertEqual((name, ntypes, etypes), ("cora", {"_N": 0}, {"_N:_E:_N": 0}))
            inner = local.ndata["inner_node"].bool()
            ids = local.ndata[dgl.NID]
            self.assertTrue(torch.equal(ids[inner], book.partid2nids(part)))
            self.assertTrue(torch.equal(node_feats["_N/feat"], torch.from_numpy(cora.features)[nodes[ids[inner]]]))
            numbers = edge_feats["_N:_E:_N/number"]
            self.assertEqual(sorted(numbers.tolist()), sorted(edges[local.edata[dgl.EID]].tolist()))
            pairs = torch.stack([nodes[ids[ends]] for ends in local.edges()], 1)
            np.testing.assert_array_equal(pairs, cora.edges.T[edges[local.edata[dgl.EID]]])
            seen += edges[local.edata[dgl.EID]].tolist()
        self.assertEqual(sorted(seen), list(range(10556)))
        with self.assertRaises(ep.InvalidArgument):
            dgl.distributed.load_partition(config, 3)

    def test_several_types(self):
        folder = graphs.make_folder()
        graph = dgl.heterograph({etype: tuple(map(torch.from_numpy, map(np.copy, ends)))
                                 for etype, ends in publications.edges.items()}, {"author": 50, "paper": 120})
        nodes, edges = dgl.distributed.partition_graph(graph, "p", 2, folder, return_mapping=True)
        self.assertEqual((len(nodes["paper"]), len(edges[WRITES])), (120, 400))
        for part in range(2):
            local, *_ = dgl.distributed.load_partition(folder / "p.json", part, load_feats=False)
            pairs = torch.stack([nodes[ntype][local.nodes[ntype].data[dgl.NID][rows]] for ntype, rows
                                 in zip(("author", "paper"), local.edges(etype=WRITES))], 1)
            np.testing.assert_array_equal(pairs, publications.edges[WRITES].T[
                edges[WRITES][local.edges[WRITES].data[dgl.EID]]])


class SeedsThatRepeat(unittest.TestCase):
    """Tests loaders with repeated seeds, which call their sampler for each batch."""

    def batches(self, **options):
        sampler = NeighborSampler([2], **options.pop("sampler", {}))
        return [list(seeds) for _, seeds, _ in DistNodeDataLoader(g, np.arange(12) // 2, sampler, batch_size=4, shuffle=True,
                                                                  **options)]

    def test_the_seed_determines_the_order(self):
        self.assertEqual(self.batches(seed=1), self.batches(seed=1))
        self.assertNotEqual(self.batches(seed=1), self.batches(seed=2))

    def test_columns_are_prefetched(self):
        columns = {"prefetch_node_feats": ["node-feat"], "prefetch_labels": ["node-label"]}
        loaders = [DistNodeDataLoader(g, nodes, NeighborSampler([-1, -1], **columns), batch_size=4)
                   for nodes in (torch.tensor([5, 3, 5, 8]), torch.tensor([5, 3, 8]))]
        for (inputs, outputs, blocks), (_, of_each_once, _) in zip(*loaders, strict=True):
            self.assertEqual(outputs.tolist(), of_each_once.tolist())
            self.assertTrue(torch.equal(blocks[0].srcdata["node-feat"], g.ndata["node-feat"][inputs]))
            self.assertTrue(torch.equal(blocks[-1].dstdata["node-label"], g.ndata["node-label"][outputs]))
            self.assertNotIn("node-label", blocks[0].dstdata)
        sampler = NeighborSampler([2], prefetch_labels={"paper": "label"})
        (_, outputs, (block,)), = DistNodeDataLoader(typed, {"paper": torch.tensor([2, 2])}, sampler, batch_size=2)
        self.assertTrue(torch.equal(block.dstnodes["paper"].data["label"],
                                    typed.nodes["paper"].data["label"][outputs["paper"]]))

    def test_options_without_effect_are_refused(self):
        with self.assertRaisesRegex(TypeError, "takes no nonsense"):
            self.batches(nonsense=1)
        with self.assertRaisesRegex(ep.InvalidArgument, "and the sampler makes none"):
            next(iter(DistNodeDataLoader(g, torch.tensor([1, 1]), NeighborSampler([], prefetch_labels=["node-label"]))))
        with self.assertRaisesRegex(NotImplementedError, "with each seed once"):
            next(iter(DistNodeDataLoader(g, torch.tensor([1, 1]), dgl.dataloading.LaborSampler([2]))))


class Errors(unittest.TestCase):
    def test_an_uncaught_error_is_printed_after_torch_has_a_process_group(self):
        code = ("import torch, espalier as ep, espalier.dgl as dgl; dgl.distributed.initialize('x'); "
                "torch.distributed.init_process_group('gloo'); dgl.distributed.DistGraph('nothing')")
        environment = {name: value for name, value in os.environ.items() if name not in ("ESPALIER_PARTITIONS", "RANK")}
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
        self.assertEqual(done.returncode, 65, done.stderr)
        self.assertIn("give part_config", done.stderr)


if __name__ == "__main__":
    unittest.main()
