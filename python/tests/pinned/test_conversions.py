"""Tests blocks and batches as tensors, and batches as PyG's data. Requires torch and PyG."""

import subprocess
import sys
import unittest

import numpy as np
import torch
from torch_geometric.data import HeteroData

import espalier as ep
import graphs
from espalier.splits import NodeShare
from graphs import CITES, LIKES_AUTHORS, LIKES_PAPERS, WRITES

TRAIN = ep.NodesOfSplit("public", "train")
ETYPES = [WRITES, CITES, LIKES_PAPERS, LIKES_AUTHORS]


def setUpModule():
    global folder, cora, cora_graphs, publications, typed_graphs
    folder = graphs.make_folder()
    cora, cora_graphs = graphs.open_cora(folder)
    publications, typed_graphs = graphs.open_publications(folder)


def cora_batch(g, fanouts=(4, 3), **options):
    sampler = ep.NeighborSampler(fanouts, expand="Once", edge_ids=True, prefetch_node_feats="node-feat",
                                 prefetch_labels="node-label")
    return next(iter(ep.DistNodeDataLoader(g, TRAIN, sampler, batch_size=50, seed=3, **options)))


def typed_batch(g, fanouts=({WRITES: 2, CITES: 3}, 2), expand="Once"):
    sampler = ep.NeighborSampler(fanouts, expand=expand, edge_ids=True,
                                 prefetch_node_feats={"author": "feat", "paper": ["feat", "year"]},
                                 prefetch_labels={"paper": "label"})
    papers = g.to_global_ids(np.arange(10, 60), "paper")
    return next(iter(ep.DistNodeDataLoader(g, {"paper": papers}, sampler, batch_size=20, seed=6)))


def original_pairs(g, data, etype):
    """Returns the edges of a HeteroData, [edges, 2] original ids."""
    sources, destinations = data[etype].edge_index
    return np.stack([g.to_original_ids(data[etype[0]].n_id[sources], etype[0]),
                     g.to_original_ids(data[etype[2]].n_id[destinations], etype[2])], 1)


class Tensors(unittest.TestCase):
    def arrays_of(self, batch):
        """Returns all arrays of a typed batch."""
        found = [*batch.input_nodes.values(), *batch.output_nodes.values()]
        for block in batch.blocks:
            for etype in ETYPES:
                found += [*block.csc(etype), *block.edges(etype), block.edge_index(etype), block.edge_ids(etype)]
            for data in block.srcdata, block.dstdata:
                found += [rows for name in data for rows in data[name].values()]
        return found

    def test_a_batch_is_the_same_on_the_cpu(self):
        for expand in "Always", "Once":
            batch = typed_batch(typed_graphs[2], expand=expand)
            moved = batch.to("cpu")
            self.assertEqual((moved.epoch, moved.step, moved.num_seeds), (batch.epoch, batch.step, batch.num_seeds))
            pairs = list(zip(self.arrays_of(batch), self.arrays_of(moved), strict=True))
            self.assertGreater(len(pairs), 40)
            for array, tensor in pairs:
                self.assertIsInstance(tensor, torch.Tensor)
                self.assertEqual(tensor.numpy().dtype, array.dtype)
                np.testing.assert_array_equal(tensor.numpy(), array)
            first = batch.blocks[0]
            for array, tensor in ((first.csc(CITES)[1], moved.blocks[0].csc(CITES)[1]),
                                  (first.srcdata["feat"]["paper"], moved.blocks[0].srcdata["feat"]["paper"])):
                self.assertTrue(np.shares_memory(array, tensor.numpy()))

    def test_everything_is_moved(self):
        batch = typed_batch(typed_graphs[2])
        for moved in batch.to("meta"), batch.to(torch.device("cpu")).to("meta", non_blocking=True):
            self.assertEqual({tensor.device.type for tensor in self.arrays_of(moved)}, {"meta"})
        block = cora_batch(cora_graphs[2]).blocks[0].to("meta")
        self.assertEqual({block.srcdata[name].device.type for name in block.srcdata}, {"meta"})

    def test_pinned_memory(self):
        batch = typed_batch(typed_graphs[2])
        if torch.cuda.is_available():
            self.assertTrue(all(tensor.is_pinned() for tensor in self.arrays_of(batch.pin_memory())))
            return
        for things in batch, batch.blocks[0]:
            with self.assertRaisesRegex(ep.InvalidArgument, "GPU"):
                things.pin_memory()

    def test_user_defined_columns(self):
        block = cora_batch(cora_graphs[2]).blocks[0]
        block.srcdata["h"] = np.arange(block.num_src_nodes())
        block.dstdata["h"] = torch.arange(block.num_dst_nodes())
        moved = block.to("cpu")
        self.assertEqual(moved.srcdata["h"].tolist(), list(range(block.num_src_nodes())))
        self.assertEqual(moved.dstdata["h"].tolist(), list(range(block.num_dst_nodes())))
        self.assertEqual(block.size(), (block.num_src_nodes(), block.num_dst_nodes()))

    def test_links(self):
        g = typed_graphs[2]
        for negatives in ep.negative_sampler.Uniform(2), ep.negative_sampler.Joint(5), None:
            loader = ep.DistEdgeDataLoader(g, ep.EdgesOfSplit("rated", "train", WRITES), ep.NeighborSampler([2]),
                                           batch_size=40, seed=1, negative_sampler=negatives, edge_columns=["rating"])
            links = next(iter(loader)).links
            loader.set_epoch(0)
            moved = next(iter(loader)).to("cpu").links
            for array, tensor in zip((links.sources, links.destinations, links.columns["rating"], *links.negatives()),
                                     (moved.sources, moved.destinations, moved.columns["rating"], *moved.negatives()),
                                     strict=True):
                self.assertIsInstance(tensor, torch.Tensor)
                np.testing.assert_array_equal(tensor.numpy(), array)

    def test_rows_of_a_bipartite_block(self):
        block = typed_batch(typed_graphs[2]).blocks[0]
        x = block.srcdata["feat"]
        pairs = block.bipartite(x)
        self.assertEqual(list(pairs), [WRITES, CITES])
        np.testing.assert_array_equal(pairs[WRITES][0], x["author"])
        papers = typed_graphs[2].to_original_ids(block.dstdata[ep.NID]["paper"], "paper")
        np.testing.assert_array_equal(pairs[WRITES][1], publications.features["paper"][papers])
        self.assertEqual(list(block.bipartite({"paper": x["paper"]})), [CITES])
        self.assertEqual({names: index.shape[1] for names, index in block.edge_index_dict().items()},
                         {names: block.num_edges(names) for names in (WRITES, CITES)})


class Homogeneous(unittest.TestCase):
    def test_full_neighborhoods_are_those_of_the_graph(self):
        """Compares batches with the nodes of each hop, found by a search of the input graph, and all their in-edges."""
        for g in cora_graphs.values():
            batch = cora_batch(g, (-1, -1, -1))
            data = batch.to_data()
            met = [set(g.to_original_ids(batch.output_nodes).tolist())]
            expanded = []
            for _ in range(3):
                expanded.append({(a, b) for a, b in cora.pairs if b in met[-1]})
                met.append({a for a, _ in expanded[-1]} - set().union(*met))
            self.assertEqual(data.num_sampled_nodes, [len(nodes) for nodes in met])
            self.assertEqual(data.num_sampled_edges, [len(edges) for edges in expanded])
            nodes = np.split(g.to_original_ids(data.n_id), np.cumsum(data.num_sampled_nodes)[:-1])
            self.assertEqual([set(of_hop.tolist()) for of_hop in nodes], met)
            pairs = np.split(graphs.pairs_of(g, data.n_id[data.edge_index]), np.cumsum(data.num_sampled_edges)[:-1])
            self.assertEqual([set(map(tuple, of_hop.tolist())) for of_hop in pairs], expanded)

    def test_each_node_and_edge_once(self):
        for g in cora_graphs.values():
            for fanouts in (4, 3), (2, 2, 2), (3,), (0, 4):
                data = cora_batch(g, fanouts).to_data(x="node-feat", y="node-label")
                self.assertEqual(len(data.n_id.unique()), data.num_nodes)
                self.assertEqual((sum(data.num_sampled_nodes), sum(data.num_sampled_edges)),
                                 (data.num_nodes, data.num_edges))
                self.assertEqual(len(data.num_sampled_edges), len(fanouts))
                self.assertEqual(len(data.e_id.unique()), data.num_edges)
                np.testing.assert_array_equal(np.stack(g.find_edges(data.e_id)), data.n_id[data.edge_index])
                originals = g.to_original_ids(data.n_id)
                np.testing.assert_array_equal(data.x, cora.features[originals])
                self.assertEqual(data.batch_size, 50)
                np.testing.assert_array_equal(data.y, cora.labels[originals[:50]])
                self.assertEqual(data.y.dtype, torch.int64)
                np.testing.assert_array_equal(data.input_id, data.n_id[:50])  # ids: seeds of a split's part

    def test_positions_among_listed_seeds(self):
        g = cora_graphs[3]
        listed = g.to_global_ids(np.random.default_rng(2).permutation(cora.num_nodes)[:90])
        sampler = ep.NeighborSampler([2], expand="Once")
        found = []
        for batch in ep.DistNodeDataLoader(g, listed, sampler, batch_size=40, seed=1):
            data = batch.to_data()
            np.testing.assert_array_equal(listed[data.input_id], data.n_id[:data.batch_size])
            self.assertNotIn("e_id", data)
            found += data.input_id.tolist()
        self.assertEqual(sorted(found), list(range(90)))

    def test_a_rank_without_seeds(self):
        g = cora_graphs[2]
        share = NodeShare.of(np.arange(3), largest=4)  # another rank has 4
        sampler = ep.NeighborSampler([2, 2], expand="Once", edge_ids=True, prefetch_node_feats="node-feat")
        _, batch = ep.DistNodeDataLoader(g, share, sampler, batch_size=3)
        data = batch.to_data(x="node-feat")
        self.assertEqual((data.batch_size, data.num_sampled_nodes, data.num_sampled_edges), (0, [0, 0, 0], [0, 0]))
        self.assertEqual((data.x.shape, data.edge_index.shape, len(data.e_id)), ((0, 1433), (2, 0), 0))
        self.assertEqual(batch.to("cpu").blocks[0].edge_index().shape, (2, 0))

    def test_labels_of_all_nodes(self):
        g = cora_graphs[2]
        sampler = ep.NeighborSampler([3], prefetch_node_feats=["node-feat", "node-label"], prefetch_labels="node-label")
        data = next(iter(ep.DistNodeDataLoader(g, TRAIN, sampler, batch_size=30))).to_data(y="node-label")
        np.testing.assert_array_equal(data.y, cora.labels[g.to_original_ids(data.n_id)])
        np.testing.assert_array_equal(data["node-feat"], cora.features[g.to_original_ids(data.n_id)])

    def test_links(self):
        g = cora_graphs[2]
        mine = np.arange(0, g.num_edges(), 7)
        loader = ep.DistEdgeDataLoader(g, mine, ep.NeighborSampler([3, 3], expand="Once"), batch_size=64, seed=1,
                                       negative_sampler=ep.negative_sampler.Uniform(2), edge_ids=True)
        batch = next(iter(loader))
        data = batch.to_data()
        positive = data.edge_label == 1
        self.assertEqual(int(positive.sum()), 64)
        self.assertEqual(len(positive), 64 + int(batch.links.negatives()[2].sum()))
        ends = data.n_id[data.edge_label_index]
        np.testing.assert_array_equal(ends[:, positive], np.stack(g.find_edges(data.input_id)))
        np.testing.assert_array_equal(positive[:64], True)
        self.assertFalse(set(map(tuple, ends[:, 64:].T.tolist())) & set(map(tuple, ends[:, :64].T.tolist())))
        self.assertTrue(set(ends[0, 64:].tolist()) <= set(ends[0, :64].tolist()))  # sources are those of the edges
        self.assertNotIn("batch_size", data)

    def test_refusals(self):
        g = cora_graphs[2]
        always = next(iter(ep.DistNodeDataLoader(g, TRAIN, ep.NeighborSampler([2, 2]), batch_size=9)))
        with self.assertRaisesRegex(ep.InvalidArgument, 'expand="Once"'):
            always.to_data()
        batch = cora_batch(g)
        with self.assertRaisesRegex(ep.InvalidArgument, "to_data"):
            batch.to("cpu").to_data()
        with self.assertRaisesRegex(ep.NotFound, "node-feat, node-label.*prefetch"):
            batch.to_data(x="node_feat")
        with self.assertRaisesRegex(ep.InvalidArgument, "several node types"):
            typed_batch(typed_graphs[2]).to_data()

    def test_without_the_libraries(self):
        program = """
import sys
for name in "torch", "torch_geometric", "dgl":
    sys.modules[name] = None  # cannot be imported
import numpy as np
import espalier as ep
from espalier.block import Block
from espalier.types import Schema
block = Block(Schema(["node"], [("node", "edge", "node")]), {}, [2], [1], [np.arange(2)])
print(block.edge_index().shape)
for convert in lambda: block.to("cpu"), block.pin_memory, block.to_dgl:
    try:
        convert()
    except ImportError as error:
        print(error)
"""
        process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
        self.assertEqual(process.stderr, "")
        self.assertEqual(process.stdout.splitlines(), [
            "(2, 0)", *["blocks and batches of tensors need PyTorch: pip install torch"] * 2,
            "a block of DGL's needs DGL: pip install torch dgl"])


class Typed(unittest.TestCase):
    def test_edges_and_columns_by_type(self):
        of_all = []
        for g in typed_graphs.values():
            data = typed_batch(g).to_hetero_data(x="feat", y={"paper": "label"})
            self.assertIsInstance(data, HeteroData)
            self.assertEqual(sorted(data.edge_types), sorted(ETYPES))
            comparable = []
            for etype in ETYPES:
                pairs = original_pairs(g, data, etype)
                known = set(map(tuple, publications.edges[etype].T.tolist()))
                self.assertTrue(set(map(tuple, pairs.tolist())) <= known)
                self.assertEqual(len(np.unique(pairs, axis=0)), len(pairs))
                self.assertEqual(sum(data[etype].num_sampled_edges), len(pairs))
                ends = g.find_edges(data[etype].e_id, etype)
                np.testing.assert_array_equal(ends[0], data[etype[0]].n_id[data[etype].edge_index[0]])
                np.testing.assert_array_equal(ends[1], data[etype[2]].n_id[data[etype].edge_index[1]])
                comparable.append(pairs.tolist())
            for ntype in "author", "paper":
                self.assertEqual(sum(data[ntype].num_sampled_nodes), data[ntype].num_nodes)
                self.assertEqual(len(data[ntype].n_id.unique()), data[ntype].num_nodes)
                originals = g.to_original_ids(data[ntype].n_id, ntype)
                np.testing.assert_array_equal(data[ntype].x, publications.features[ntype][originals])
            self.assertEqual((data["paper"].batch_size, data["paper"].num_sampled_nodes[0]), (20, 20))
            self.assertEqual(data["author"].num_sampled_nodes[0], 0)
            np.testing.assert_array_equal(data["paper"].y, publications.labels[originals[:20]])
            np.testing.assert_array_equal(data["paper"].input_id + 10, originals[:20])
            of_all.append(comparable)
        self.assertEqual(*of_all)

    def test_an_edge_type_of_one_hop_alone(self):
        """A batch has the edges that the hop of the seeds sampled, even if other hops skip their type, and no edges of
        types that no hop samples."""
        g = typed_graphs[2]
        data = typed_batch(g, ({CITES: 3}, {WRITES: -1, CITES: 2})).to_hetero_data()
        degrees = np.bincount(publications.edges[WRITES][1], minlength=graphs.PAPERS)
        seeds = g.to_original_ids(data["paper"].n_id[:20], "paper")
        self.assertEqual(data[WRITES].num_sampled_edges, [degrees[seeds].sum(), 0])
        self.assertEqual(data[LIKES_AUTHORS].num_sampled_edges, [0, 0])
        self.assertEqual(tuple(data[LIKES_AUTHORS].edge_index.shape), (2, 0))
        self.assertGreater(data[CITES].num_sampled_edges[1], 0)

    def test_a_row_is_a_node_at_a_time(self):
        source = publications.write(folder / "timed")
        g = ep.DistGraph(graphs.partition(source, "NPY", 2, folder / "timed-partitions", "--time-column", "number"))
        sampler = ep.NeighborSampler([{WRITES: -1}] * 2, time_column="number", seed_time_column="until", expand="Once",
                                     edge_ids=True)
        papers = g.to_global_ids(np.arange(graphs.PAPERS), "paper")
        data, = (batch.to_hetero_data() for batch in
                 ep.DistNodeDataLoader(g, {"paper": papers}, sampler, batch_size=graphs.PAPERS))
        numbers = torch.from_numpy(g.edges[WRITES].data["number"][data[WRITES].e_id])
        rows = g.to_original_ids(data["paper"].n_id[data[WRITES].edge_index[1]], "paper")
        expected = [number for number, paper in enumerate(publications.edges[WRITES][1])
                    if number <= publications.until[paper]]
        self.assertEqual(sorted(numbers.tolist()), expected)
        self.assertTrue((numbers <= torch.from_numpy(publications.until[rows])).all())
        self.assertGreater(data["author"].num_nodes, graphs.AUTHORS)  # authors at several times
        self.assertEqual(data["author"].num_sampled_nodes, [0, data["author"].num_nodes, 0])

    def test_links_of_several_types(self):
        g = typed_graphs[3]
        loader = ep.DistEdgeDataLoader(g, ep.EdgesOfSplit("rated", "train", WRITES),
                                       ep.NeighborSampler([2, 2], expand="Once"), batch_size=32, seed=1,
                                       negative_sampler=ep.negative_sampler.GlobalUniform(1), edge_ids=True)
        data = next(iter(loader)).to_hetero_data()
        link = data[WRITES]
        authors, papers = (data[ntype].n_id[rows] for ntype, rows in zip(("author", "paper"), link.edge_label_index))
        np.testing.assert_array_equal(np.stack([authors[:32], papers[:32]]),
                                      np.stack(g.find_edges(link.input_id, WRITES)))
        self.assertEqual(link.edge_label.tolist(), [1] * 32 + [0] * (len(papers) - 32))
        self.assertGreater(len(papers), 50)
        self.assertNotIn("edge_label", data[CITES])


if __name__ == "__main__":
    unittest.main()
