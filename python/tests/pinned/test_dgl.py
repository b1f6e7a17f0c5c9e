"""Tests graphs, tensors, sampling and learnable rows of espalier.dgl in one process."""

import os
import unittest
from unittest import mock

import numpy as np
import torch

import espalier as ep
import espalier.dgl as dgl
import graphs
from graphs import CITES, LIKES_AUTHORS, LIKES_PAPERS, WRITES


def opened(partitions):
    with mock.patch.dict(os.environ, ESPALIER_PARTITIONS=str(partitions)):
        return dgl.distributed.DistGraph("any name")


def setUpModule():
    global cora, g, typed
    folder = graphs.make_folder()
    cora = graphs.Cora()
    source = graphs.Publications().write(folder / "publications")
    typed = opened(graphs.partition(source, "NPY", 2, folder / "typed"))
    g = opened(graphs.partition(graphs.CORA, "OGB", 2, folder))  # the newest graph


class Graphs(unittest.TestCase):
    def test_columns_are_tensors(self):
        nodes = g.to_global_ids(torch.tensor([5, 0]))
        self.assertEqual(nodes.dtype, torch.int64)
        feat = g.ndata["node-feat"]
        self.assertEqual((feat.shape, feat.dtype, len(feat)), ((2708, 1433), torch.float32, 2708))
        np.testing.assert_array_equal(feat[nodes].numpy(), cora.features[[5, 0]])
        np.testing.assert_array_equal(feat[[int(nodes[1])]].numpy(), cora.features[[0]])
        self.assertEqual(feat[int(nodes[0])].shape, (1, 1433))
        np.testing.assert_array_equal(g.to_original_ids(nodes), [5, 0])
        self.assertEqual(g.node_attr_schemes()["node-feat"], ((1433,), torch.float32))
        with self.assertRaisesRegex(ep.NotFound, "no column 'absent'"):
            g.ndata["absent"]

    def test_masks_are_the_parts_of_the_only_split(self):
        mask = g.ndata["train_mask"]
        self.assertEqual((mask.shape, mask.dtype, mask.count_nonzero()), ((2708,), torch.uint8, 140))
        nodes = g.to_global_ids(cora.train)
        self.assertTrue(mask[nodes].all())
        self.assertEqual(mask[int(nodes[0])].tolist(), [1])
        self.assertEqual({"train_mask", "val_mask", "test_mask"} - set(g.ndata), set())
        self.assertIn("val_mask", g.ndata)
        self.assertEqual(g.ndata["test_mask"].count_nonzero(), 1000)
        self.assertNotIn("train_mask", typed.nodes["author"].data)
        self.assertEqual(typed.nodes["paper"].data["train_mask"].count_nonzero(), 70)

    def test_structure(self):
        self.assertEqual((g.num_nodes("_N"), g.number_of_edges("_E")), (2708, 10556))  # DGL's names of the only type
        sources, destinations = g.find_edges(torch.arange(10556))
        self.assertEqual(torch.bincount(destinations, minlength=2708).tolist(), g.in_degrees().tolist())
        self.assertEqual(torch.bincount(sources, minlength=2708).tolist(), g.out_degrees().tolist())
        self.assertEqual(g.in_degrees(torch.tensor([7])).shape, (1,))
        self.assertEqual((g.rank(), typed.canonical_etypes[typed.get_etype_id("writes")]), (0, WRITES))
        self.assertEqual(typed.ntypes[typed.get_ntype_id("paper")], "paper")
        g.barrier()
        with self.assertRaisesRegex(AttributeError, "load_partition"):
            g.local_partition

    def test_partition_book(self):
        book = g.get_partition_book()
        parts = book.metadata()
        self.assertEqual((sum(part["num_nodes"] for part in parts), sum(part["num_edges"] for part in parts)),
                         (2708, 10556))
        for part in range(book.num_partitions()):
            nodes, edges = book.partid2nids(part), book.partid2eids(part)
            self.assertEqual((len(nodes), len(edges)), (parts[part]["num_nodes"], parts[part]["num_edges"]))
            self.assertTrue((book.nid2partid(nodes) == part).all() and (book.eid2partid(edges) == part).all())
            self.assertEqual(book.nid2localnid(nodes, part).tolist(), list(range(len(nodes))))
            self.assertEqual(book.eid2localeid(edges, part).tolist(), list(range(len(edges))))
        with self.assertRaisesRegex(AttributeError, "ids are those of a type"):
            book.map_to_homo_nid


class Tensors(unittest.TestCase):
    def setUp(self):
        dgl._session.use_graph(g)

    def test_rows_of_nodes(self):
        tensor = dgl.distributed.DistTensor((2708, 3), torch.float32, name="rows")
        self.assertEqual((tensor.shape, tensor.dtype, tensor.part_policy.policy_str),
                         ((2708, 3), torch.float32, "node~node"))
        g.ndata["rows"] = tensor
        self.addCleanup(g.ndata.pop, "rows")
        g.ndata["rows"][[3, 4]] = torch.ones(2, 3, requires_grad=True)
        self.assertEqual(tensor[torch.tensor([4, 5])].tolist(), [[1, 1, 1], [0, 0, 0]])
        self.assertEqual(tensor.count_nonzero(), 6)

    def test_own_rows_and_init_func(self):
        shapes = []

        def init(shape, dtype):
            shapes.append(shape)
            return torch.arange(shape[0], dtype=dtype)[:, None].expand(shape)

        tensor = dgl.distributed.DistTensor((100, 2), torch.int64, init_func=init)
        self.assertIsNone(tensor.part_policy)
        self.assertEqual((tensor[[99]].tolist(), shapes), ([[99, 99]], [(100, 2)]))
        again = dgl.distributed.DistTensor((100, 2), torch.int64, name=tensor.name, init_func=init)
        self.assertEqual((again[[5]].tolist(), len(shapes)), ([[5, 5]], 1))
        with self.assertRaises(ZeroDivisionError):
            dgl.distributed.DistTensor((100, 2), init_func=lambda shape, dtype: 1 / 0)

    def test_the_policy_decides_between_types_of_one_size(self):
        tensor = dgl.distributed.DistTensor((120, 1), part_policy=typed.get_node_partition_policy("paper"))
        typed.nodes["paper"].data["mine"] = tensor
        self.assertEqual(typed.nodes["paper"].data["mine"][[3]].tolist(), [[0]])
        with self.assertRaisesRegex(ep.InvalidArgument, "119 rows"):
            dgl.distributed.DistTensor((119, 1), part_policy=typed.get_node_partition_policy("paper"))

    def test_a_mask_tensor_is_divided(self):
        mask = dgl.distributed.DistTensor((2708,), torch.uint8, name="mask")
        mask[[2, 9]] = 1
        self.assertEqual(sorted(dgl.distributed.node_split(mask).tolist()), [2, 9])

    def test_learnable_rows(self):
        emb = dgl.distributed.DistEmbedding(2708, 2, init_func=lambda shape, dtype: torch.full(shape, 3, dtype=dtype))
        optimizer = dgl.distributed.SparseAdagrad([emb], lr=1)
        rows = emb(torch.tensor([4, 4, 6]))
        (rows * torch.tensor([[1.], [3.], [5.]])).sum().backward()
        optimizer.step()
        np.testing.assert_allclose(emb[[4, 5, 6]], [[2, 2], [3, 3], [2, 2]], rtol=1e-6)
        with self.assertRaisesRegex(AttributeError, "emb.ids."):
            emb.weight
        with self.assertRaisesRegex(AttributeError, "save_tensors"):
            optimizer.save("file")


class Shares(unittest.TestCase):
    def setUp(self):
        dgl._session.use_graph(g)

    def test_masks_of_every_kind_give_one_share(self):
        book, column = g.get_partition_book(), g.ndata["train_mask"]
        expected = ep.node_split(ep.NodesOfSplit("public", "train"), g)
        mask = np.asarray(column)
        for nodes in column, mask, mask != 0, torch.from_numpy(mask), torch.from_numpy(mask != 0), \
                ep.NodesOfSplit("public", "train"):
            share = dgl.distributed.node_split(nodes, book, force_even=True)
            self.assertEqual((share.dtype, sorted(share.tolist())), (torch.int64, sorted(expected.tolist())))
        self.assertEqual(len(dgl.distributed.node_split(column, book, rank=0, force_even=False)), 140)
        with self.assertRaisesRegex(ep.InvalidArgument, "2708 values, not 3"):
            dgl.distributed.node_split(torch.tensor([1, 2, 3]), book)
        with self.assertRaises(NotImplementedError):
            dgl.distributed.node_split(column, book, rank=1)
        with self.assertRaisesRegex(ep.InvalidArgument, "'train_mask' is not a mask of edges: its rows are .* node~node"):
            dgl.distributed.edge_split(column, book)
        papers = typed.nodes["paper"].data["train_mask"]
        self.assertEqual(len(dgl.distributed.node_split(papers, ntype="paper")), 70)
        with self.assertRaisesRegex(ep.InvalidArgument, "'train_mask' is a mask of node~paper, not of 'author'; leave"):
            dgl.distributed.node_split(papers, ntype="author")

    def test_edges(self):
        mask = torch.zeros(10556, dtype=torch.bool)
        mask[[7, 9]] = True
        self.assertEqual(sorted(dgl.distributed.edge_split(mask, g.get_partition_book()).tolist()), [7, 9])


class Sampling(unittest.TestCase):
    def test_draws_differ_from_call_to_call_and_repeat_with_the_seed(self):
        seeds = g.to_global_ids(np.arange(50))

        def draw(seed):
            dgl.seed(seed)
            return [dgl.distributed.sample_neighbors(g, seeds, 1).edata[dgl.EID].tolist() for _ in range(2)]

        first, second = draw(1)
        self.assertNotEqual(first, second)
        self.assertEqual([first, second], draw(1))
        self.assertNotEqual(first, draw(2)[0])

    def test_a_frontier_and_its_block(self):
        seeds = torch.tensor([9, 4, 9])
        frontier = dgl.distributed.sample_neighbors(g, seeds, -1)
        self.assertEqual((frontier.num_edges(), frontier.number_of_nodes()), (int(g.in_degrees([9, 4]).sum()), 2708))
        ends = g.find_edges(frontier.edata[dgl.EID])
        for found, expected in zip(frontier.edges(), ends):
            self.assertTrue(torch.equal(found, expected))
        block = dgl.to_block(frontier, torch.tensor([4, 9]))
        self.assertEqual(block.dstdata[dgl.NID].tolist(), [4, 9])
        self.assertEqual(block.in_degrees().tolist(), g.in_degrees([4, 9]).tolist())
        sources, destinations = block.edges()
        nodes = block.srcdata[dgl.NID]
        ends = g.find_edges(block.edata[dgl.EID])
        self.assertTrue(torch.equal(nodes[sources], ends[0]) and torch.equal(nodes[destinations], ends[1]))
        indptr, indices, _ = block.adj_tensors("csc")
        self.assertEqual((indptr.dtype, int(indptr[-1])), (torch.int64, len(indices)))
        with self.assertRaisesRegex(AttributeError, "to_block"):
            frontier.update_all

    def test_edges_in_every_form_and_order(self):
        nodes = torch.arange(200)
        frontier = dgl.distributed.in_subgraph(g, nodes)
        part = dgl.graph(tuple(frontier.edges()), num_nodes=2708)
        for graph, of in ((frontier, None), (dgl.to_block(frontier, nodes), g.canonical_etypes[0]), (part, "_E")):
            sources, destinations = graph.edges()
            numbers = torch.arange(len(sources))
            for found, expected in ((graph.edges(form="all"), (sources, destinations, numbers)),
                                    (graph.edges("uv", etype=of), (sources, destinations)),
                                    (graph.edges(of), (sources, destinations)), ([graph.edges("eid", "eid")], [numbers])):
                self.assertEqual(len(found), len(expected))
                self.assertTrue(all(map(torch.equal, found, expected)))
            order = np.lexsort((numbers, destinations, sources))
            found = graph.edges(form="all", order="srcdst")
            for values, expected in zip(found, (sources, destinations, numbers), strict=True):
                np.testing.assert_array_equal(values, expected[order])
            np.testing.assert_array_equal(graph.edges("eid", "srcdst"), order)
            with self.assertRaisesRegex(ep.InvalidArgument, "^form 'vu' of edges; expected 'uv', 'eid' or 'all'$"):
                graph.edges("vu", etype=of or g.canonical_etypes[0])
            with self.assertRaisesRegex(ep.InvalidArgument, "^order 'dst' of edges; expected 'eid' or 'srcdst'$"):
                graph.edges(order="dst")

    def test_the_device_of_what_is_sampled(self):
        seeds = torch.tensor([9, 4])
        for draw in (lambda device: dgl.distributed.sample_neighbors(g, seeds, 2, output_device=device),
                     lambda device: dgl.distributed.sample_etype_neighbors(g, seeds, [2], output_device=device)):
            for device in (None, "cpu", torch.device("meta")):  # "meta": tensors without values, on any machine
                name = "cpu" if device is None else str(device)
                frontier = draw(device)
                block = dgl.to_block(frontier, seeds)
                found = [*frontier.edges("all"), frontier.edata[dgl.EID], *block.edges("all", "srcdst"),
                         block.srcdata[dgl.NID], block.edata[dgl.EID], block.in_degrees()]
                self.assertEqual({tensor.device.type for tensor in found}, {name})
        block = dgl.to_block(dgl.distributed.in_subgraph(g, seeds), seeds)
        moved = block.to("cpu").to("meta", non_blocking=True)
        self.assertEqual((moved.dstdata[dgl.NID].device.type, moved.edges()[0].device.type), ("meta", "meta"))
        with self.assertRaises(TypeError):
            block.to("cpu", nonblocking=True)  # an option that tensors lack

    def test_several_types(self):
        papers = torch.tensor([5, 3])
        numbers = {WRITES: 1, CITES: 2, LIKES_PAPERS: 0, LIKES_AUTHORS: 0}
        fanouts = [numbers[etype] for etype in typed.canonical_etypes]
        frontier = dgl.distributed.sample_etype_neighbors(typed, {"paper": papers}, fanouts)
        self.assertLessEqual(frontier.num_edges(WRITES), 2)
        self.assertLessEqual(frontier.num_edges(CITES), 4)
        self.assertEqual(frontier.num_edges(LIKES_PAPERS), 0)
        block = dgl.to_block(dgl.distributed.in_subgraph(typed, {"paper": papers}), {"paper": papers})
        self.assertEqual(block.dstdata[dgl.NID]["paper"].tolist(), [5, 3])
        self.assertEqual(block.srcnodes["author"].data[dgl.NID].shape, (block.num_src_nodes("author"),))
        self.assertEqual(block.edges[WRITES].data[dgl.EID].shape, block.edges(etype=WRITES)[0].shape)

    def test_messages(self):
        nodes = torch.arange(2708)
        block = dgl.to_block(dgl.distributed.in_subgraph(g, nodes), nodes)
        sources, destinations = block.edges()
        matrix = torch.zeros(2708, 2708).index_put_((destinations, sources), torch.ones(len(sources)), accumulate=True)
        h = torch.randn(2708, 3)
        fn = dgl.function
        with block.local_scope():
            block.srcdata["h"], block.dstdata["h"], block.edata["w"] = h, h, torch.rand(len(sources), 1)
            block.update_all(fn.copy_u("h", "m"), fn.sum("m", "sum"))
            block.update_all(fn.copy_u("h", "m"), fn.mean("m", "mean"))
            block.update_all(fn.copy_u("h", "m"), fn.max("m", "max"))
            block.update_all(fn.u_mul_e("h", "w", "m"), fn.sum("m", "weighted"))
            block.apply_edges(fn.u_dot_v("h", "h", "score"))
            block.apply_edges(lambda edges: {"both": edges.src["h"] - edges.dst["h"] * edges.data["w"]})
            torch.testing.assert_close(block.dstdata["sum"], matrix @ h)
            torch.testing.assert_close(block.dstdata["mean"], matrix @ h / matrix.sum(1, keepdim=True).clamp(min=1))
            torch.testing.assert_close(block.dstdata["max"][7], h[sources[destinations == 7]].max(0).values)
            weighted = torch.zeros(2708, 3).index_add(0, destinations, h[sources] * block.edata["w"])
            torch.testing.assert_close(block.dstdata["weighted"], weighted)
            torch.testing.assert_close(block.edata["score"][:, 0], (h[sources] * h[destinations]).sum(1))
            torch.testing.assert_close(block.edata["both"], h[sources] - h[destinations] * block.edata["w"])
        self.assertEqual((block.srcdata.keys(), block.edata.keys()), ([dgl.NID], [dgl.EID]))
        with self.assertRaisesRegex(NotImplementedError, "sum, mean, max or min"):
            block.update_all(fn.copy_u("h", "m"), lambda nodes: {})
        with self.assertRaisesRegex(AttributeError, "espalier.nn"):
            block.formats


if __name__ == "__main__":
    unittest.main()
