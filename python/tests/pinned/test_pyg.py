"""Tests PyG's models with Espalier's batches, and PyG's loaders with Espalier's graphs. Requires torch and PyG."""

import subprocess
import sys
import unittest
import warnings

import numpy as np
import torch
from torch_geometric.loader import LinkLoader, LinkNeighborLoader, NeighborLoader, NodeLoader
from torch_geometric.nn import GATConv, HeteroConv, SAGEConv, to_hetero
from torch_geometric.sampler import NegativeSampling, NodeSamplerInput, NumNeighbors
from torch_geometric.utils import trim_to_layer

import espalier as ep
import graphs
from espalier import pyg
from graphs import AUTHORS, CITES, LIKES_AUTHORS, LIKES_PAPERS, PAPERS, WRITES

TRAIN = ep.NodesOfSplit("public", "train")
TYPED_COLUMNS = {"author": {"x": "feat"}, "paper": {"x": "feat", "y": "label"}, WRITES: {"weight": "weight"}}


def setUpModule():
    global cora, cora_graphs, cora_partitions, publications, typed_graphs, folder
    folder = graphs.make_folder()
    cora, cora_graphs = graphs.open_cora(folder)
    cora_partitions = next((folder / "partitions-2").iterdir())
    publications, typed_graphs = graphs.open_publications(folder)


class Convolutions(torch.nn.Module):
    """Two layers of PyG. `trim`: whether to cut off rows and edges that the next layer does not need."""

    def __init__(self, make):
        super().__init__()
        torch.manual_seed(1)
        self.convs = torch.nn.ModuleList([make(1433, 16), make(16, 7)])

    def forward(self, x, edge_index, node_counts=None, edge_counts=None):
        for layer, conv in enumerate(self.convs):
            if node_counts is not None:
                x, edge_index, _ = trim_to_layer(layer, node_counts, edge_counts, x, edge_index)
            x = conv(x if layer == 0 else x.relu(), edge_index)
        return x

    def on_blocks(self, blocks):
        x = blocks[0].srcdata["node-feat"]
        for layer, (conv, block) in enumerate(zip(self.convs, blocks)):
            x = conv(block.bipartite(x if layer == 0 else x.relu()), block.edge_index(), size=block.size())
        return x


def typed_sampler(fanouts, **options):
    return ep.NeighborSampler(fanouts, prefetch_node_feats={"author": "feat", "paper": "feat"},
                              prefetch_labels={"paper": "label"}, **options)


def typed_convolution():
    return HeteroConv({etype: SAGEConv((-1, -1), 8) for etype in graphs.EDGE_COUNTS}, aggr="sum")


def whole_typed_graph():
    """Returns (x_dict, edge_index_dict) in original ids."""
    return ({ntype: torch.from_numpy(rows) for ntype, rows in publications.features.items()},
            {etype: torch.from_numpy(pairs) for etype, pairs in publications.edges.items()})


@torch.no_grad()
def on_the_whole_graph(model):
    return model.eval()(torch.from_numpy(cora.features), torch.from_numpy(cora.edges))


class WholeNeighborhoods(unittest.TestCase):
    """With all neighbors, the outputs of a model for the seeds are those on the whole graph."""

    @torch.no_grad()
    def test_homogeneous_models(self):
        for make in SAGEConv, lambda i, o: GATConv(i, o, heads=2, concat=False):
            model = Convolutions(make)
            expected = on_the_whole_graph(model)
            for g in cora_graphs.values():
                for expand in "Once", "Always":
                    sampler = ep.MultiLayerFullNeighborSampler(2, prefetch_node_feats="node-feat", expand=expand)
                    for batch in ep.DistNodeDataLoader(g, TRAIN, sampler, batch_size=60, seed=1):
                        seeds = expected[g.to_original_ids(batch.output_nodes)]
                        outputs = [model.on_blocks(batch.to("cpu").blocks)]
                        if expand == "Once":
                            data = batch.to_data(x="node-feat")
                            counts = data.num_sampled_nodes, data.num_sampled_edges
                            outputs += [model(data.x, data.edge_index)[:data.batch_size],
                                        model(data.x, data.edge_index, *counts)[:data.batch_size]]
                        for output in outputs:
                            torch.testing.assert_close(output, seeds, atol=1e-5, rtol=1e-4)

    @torch.no_grad()
    def test_typed_models(self):
        first, second = typed_convolution(), typed_convolution()
        x, edges = whole_typed_graph()
        expected = second(first(x, edges), edges)["paper"]

        class Layers(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.second = SAGEConv((-1, -1), 8), SAGEConv((-1, -1), 5)

            def forward(self, x, edge_index):
                return self.second(self.first(x, edge_index).relu(), edge_index)

        converted = to_hetero(Layers(), (list(x), list(edges)))
        expected_of_converted = converted(x, edges)["paper"]
        for g in typed_graphs.values():
            sampler = typed_sampler([-1, -1], expand="Once")
            for batch in ep.DistNodeDataLoader(g, ep.NodesOfSplit("random", "train", "paper"), sampler, batch_size=20):
                seeds = g.to_original_ids(batch.output_nodes["paper"], "paper")
                blocks = batch.to("cpu").blocks
                h = first(blocks[0].bipartite(blocks[0].srcdata["feat"]), blocks[0].edge_index_dict())
                h = second(blocks[1].bipartite(h), blocks[1].edge_index_dict())
                torch.testing.assert_close(h["paper"], expected[seeds], atol=1e-4, rtol=1e-4)
                data = batch.to_hetero_data(x="feat")
                h, index = data.x_dict, data.edge_index_dict
                counts = data.num_sampled_nodes_dict, data.num_sampled_edges_dict
                for layer, conv in enumerate((first, second)):
                    h, index, _ = trim_to_layer(layer, *counts, h, index)
                    h = conv(h, index)
                torch.testing.assert_close(h["paper"][:data["paper"].batch_size], expected[seeds], atol=1e-4, rtol=1e-4)
                h = converted(data.x_dict, data.edge_index_dict)["paper"][:data["paper"].batch_size]
                torch.testing.assert_close(h, expected_of_converted[seeds], atol=1e-4, rtol=1e-4)

    @torch.no_grad()
    def test_pygs_loaders(self):
        model = Convolutions(SAGEConv)
        expected = on_the_whole_graph(model)
        seeds = np.array([7, 1000, 3, 2500, 9])
        for g in cora_graphs.values():
            data = pyg.FeatureStore(g, {"x": "node-feat", "y": "node-label"}), pyg.GraphStore(g)
            sampler = pyg.NeighborSampler(g, [-1, -1])
            nodes = torch.from_numpy(g.to_global_ids(seeds))
            for loader in (NodeLoader(data, sampler, input_nodes=nodes, batch_size=3),
                           NeighborLoader(data, [-1, -1], nodes, neighbor_sampler=sampler, batch_size=3)):
                batches = list(loader)
                self.assertEqual([batch.input_id.tolist() for batch in batches], [[0, 1, 2], [3, 4]])
                for batch in batches:
                    out = model(batch.x, batch.edge_index, batch.num_sampled_nodes, batch.num_sampled_edges)
                    originals = seeds[batch.input_id]
                    torch.testing.assert_close(out[:batch.batch_size], expected[originals], atol=1e-5, rtol=1e-4)
                    np.testing.assert_array_equal(batch.y[:batch.batch_size], cora.labels[originals])
                    np.testing.assert_array_equal(np.stack(g.find_edges(batch.e_id)), batch.n_id[batch.edge_index])


class Training(unittest.TestCase):
    def test_a_typed_model_learns(self):
        """The labels of papers depend on the features of their authors, which reach papers only over edges."""
        rng = np.random.default_rng(1)
        made = graphs.Publications()
        totals = np.zeros((PAPERS, 4), np.float32)
        np.add.at(totals, made.edges[WRITES][1], made.features["author"][made.edges[WRITES][0]])
        made.labels, made.features["paper"] = totals.argmax(1), rng.normal(size=(PAPERS, 4)).astype(np.float32)
        source = made.write(folder / "learnable")
        g = ep.DistGraph(graphs.partition(source, "NPY", 2, folder / "learnable-partitions"))

        def accuracy(model, part):
            loader = ep.DistNodeDataLoader(g, ep.NodesOfSplit("random", part, "paper"),
                                           typed_sampler([-1], expand="Once"), batch_size=70)
            batches = [batch.to_hetero_data(x="feat", y="label") for batch in loader]
            with torch.no_grad():
                right = [model(data.x_dict, data.edge_index_dict)["paper"][:data["paper"].batch_size].argmax(1)
                         == data["paper"].y for data in batches]
            return torch.cat(right).float().mean().item()

        torch.manual_seed(2)
        model = HeteroConv({WRITES: SAGEConv((4, 4), 4, aggr="sum"), LIKES_AUTHORS: SAGEConv((4, 4), 4)})
        optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
        loader = ep.DistNodeDataLoader(g, ep.NodesOfSplit("random", "train", "paper"),
                                       typed_sampler([8], expand="Once"), batch_size=35, seed=3)
        for _ in range(60):
            for batch in loader:
                data = batch.to_hetero_data(x="feat", y="label")
                out = model(data.x_dict, data.edge_index_dict)["paper"][:data["paper"].batch_size]
                optimizer.zero_grad()
                torch.nn.functional.cross_entropy(out, data["paper"].y).backward()
                optimizer.step()
        self.assertGreater(accuracy(model, "train"), 0.9)
        self.assertGreater(accuracy(model, "test"), 0.6)


class Stores(unittest.TestCase):
    def test_features(self):
        g = cora_graphs[3]
        store = pyg.FeatureStore(g, {"x": "node-feat", "y": "node-label"})
        originals = g.to_original_ids(np.arange(g.num_nodes()))
        self.assertEqual([(attr.group_name, attr.attr_name) for attr in store.get_all_tensor_attrs()],
                         [(None, "x"), (None, "y")])
        self.assertEqual(store.get_tensor_size(None, "x"), (2708, 1433))
        self.assertEqual(store.get_tensor_size(None, "y"), (2708,))
        for index in torch.tensor([5, 3, 5]), np.array([5]), slice(2, 9, 3), 8, -1, None:
            rows = slice(None) if index is None else index
            np.testing.assert_array_equal(store.get_tensor(None, "x", index), cora.features[originals][rows])
            np.testing.assert_array_equal(store[None, "y", index], cora.labels[originals][rows])
        self.assertIsInstance(store.get_tensor(None, "x", np.array([1]), convert_type=True), np.ndarray)
        self.assertEqual(store.get_tensor(None, "y", torch.tensor([1])).dtype, torch.int64)
        for call in (lambda: pyg.FeatureStore(g, {"x": "feat"}), lambda: store.get_tensor(None, "z", None),
                     lambda: store.get_tensor("paper", "x", None)):
            with self.assertRaises(ep.NotFound):
                call()

    def test_features_of_several_types(self):
        g = typed_graphs[2]
        store = pyg.FeatureStore(g, TYPED_COLUMNS)
        self.assertEqual({(attr.group_name, attr.attr_name) for attr in store.get_all_tensor_attrs()},
                         {("author", "x"), ("paper", "x"), ("paper", "y")})
        ids = torch.tensor([4, 40])
        np.testing.assert_array_equal(store["author"].x[ids],
                                      publications.features["author"][g.to_original_ids(ids, "author")])
        np.testing.assert_array_equal(store.get_tensor(WRITES, "weight", ids), g.edges[WRITES].data["weight"][ids])

    def test_tensors_are_written(self):
        g = cora_graphs[2]
        store = pyg.FeatureStore(g, {"x": "node-feat"})
        values = torch.randn(g.num_nodes(), 3)
        self.assertTrue(store.put_tensor(values, None, "hidden", None))
        store[None, "hidden", torch.tensor([1, 5])] = torch.ones(2, 3)
        values[[1, 5]] = 1
        torch.testing.assert_close(store.get_tensor(None, "hidden", None), values)
        np.testing.assert_array_equal(g.ndata["hidden"][[5, 6]], values[[5, 6]])
        self.assertEqual(store.get_tensor_size(None, "hidden"), (g.num_nodes(), 3))
        del store[None, "hidden"]
        self.assertNotIn("hidden", g.ndata)
        with self.assertRaisesRegex(ep.Unimplemented, "read-only"):
            store.put_tensor(torch.zeros(1, 1433), None, "x", torch.tensor([0]))
        with self.assertRaisesRegex(ep.NotFound, "index=None"):
            store.put_tensor(torch.zeros(1, 3), None, "hidden", torch.tensor([0]))

    def test_edges(self):
        for g in cora_graphs.values():
            store = pyg.GraphStore(g)
            attr, = store.get_all_edge_attrs()
            self.assertEqual((attr.edge_type, attr.size), (None, (2708, 2708)))
            with self.assertRaisesRegex(ep.FailedPrecondition, "copy_edges=True"):
                store.csc()
            with self.assertRaisesRegex(ep.FailedPrecondition, "neighbor_sampler"), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # PyG warns that it has no sampler of its own here
                NeighborLoader((pyg.FeatureStore(g, {"x": "node-feat"}), store), [2], torch.arange(3))
            for change in lambda: store.put_edge_index((None, None), attr), lambda: store.remove_edge_index(attr):
                with self.assertRaises(ep.Unimplemented):
                    change()
            store = pyg.GraphStore(g, copy_edges=True)
            row, col, _ = store.coo()
            self.assertEqual(set(map(tuple, graphs.pairs_of(g, (row, col)).tolist())), cora.pairs)
            self.assertTrue((col.diff() >= 0).all())
            row, colptr, permutation = store.csc()
            self.assertIsNone(permutation)
            np.testing.assert_array_equal(colptr.diff(), g.in_degrees(np.arange(g.num_nodes())))

    def test_edges_of_several_types(self):
        for g in typed_graphs.values():
            store = pyg.GraphStore(g, copy_edges=True)
            sizes = {attr.edge_type: attr.size for attr in store.get_all_edge_attrs()}
            self.assertEqual(sizes[WRITES], (AUTHORS, PAPERS))
            self.assertEqual(sizes[LIKES_AUTHORS], (AUTHORS, AUTHORS))
            rows, columns, _ = store.coo()
            for etype in graphs.EDGE_COUNTS:
                pairs = graphs.pairs_of(g, (rows[etype], columns[etype]), etype[0], etype[2])
                np.testing.assert_array_equal(graphs.sorted_rows(pairs),
                                              graphs.sorted_rows(publications.edges[etype].T))
                self.assertTrue((columns[etype].diff() >= 0).all())


class Sampling(unittest.TestCase):
    def stores(self, g):
        return pyg.FeatureStore(g, TYPED_COLUMNS), pyg.GraphStore(g)

    def test_typed_loaders(self):
        of_all = []
        for g in typed_graphs.values():
            fanouts = NumNeighbors({CITES: [2, 0], WRITES: [-1, 3]}, default=[1, 0])
            papers = torch.from_numpy(g.to_global_ids(np.arange(100), "paper"))
            sampler = pyg.NeighborSampler(g, fanouts, seed=5)
            loader = NodeLoader(self.stores(g), sampler, ("paper", papers), batch_size=40)
            comparable = []
            for data in loader:
                seeds = data["paper"].n_id[:data["paper"].batch_size]
                np.testing.assert_array_equal(papers[data["paper"].input_id], seeds)
                degrees = np.bincount(publications.edges[WRITES][1], minlength=PAPERS)
                self.assertEqual(data[WRITES].num_sampled_edges[0],
                                 degrees[g.to_original_ids(seeds, "paper")].sum())
                self.assertEqual(data[CITES].num_sampled_edges[1], 0)
                self.assertLessEqual(data[LIKES_PAPERS].num_sampled_edges[0], len(seeds))
                comparable.append([g.to_original_ids(data[ntype].n_id, ntype).tolist()
                                   for ntype in ("author", "paper")])
                np.testing.assert_array_equal(data["author"].x,
                                              publications.features["author"][comparable[-1][0]])
            of_all.append(comparable)
        self.assertEqual(*of_all)

    def test_options(self):
        g = cora_graphs[2]
        mask = torch.zeros(2708, dtype=torch.bool)
        mask[[4, 90, 91, 2000, 7]] = True
        data = pyg.FeatureStore(g, {"x": "node-feat"}), pyg.GraphStore(g)
        loader = NodeLoader(data, pyg.NeighborSampler(g, [5], replace=True), mask, batch_size=2, shuffle=True,
                            drop_last=True, transform=lambda batch: (batch, batch.n_id[:batch.batch_size]))
        degrees = np.bincount(cora.edges[1], minlength=cora.num_nodes)
        found = set()
        for batch, seeds in loader:
            self.assertTrue(torch.equal(batch.input_id, seeds))
            drawn = torch.bincount(batch.edge_index[1], minlength=2)
            np.testing.assert_array_equal(drawn, np.where(degrees[g.to_original_ids(seeds)] > 0, 5, 0))
            found.update(seeds.tolist())
        self.assertEqual(len(found), 4)
        self.assertTrue(found <= set(mask.nonzero().reshape(-1).tolist()))

    def test_weights(self):
        g = typed_graphs[2]
        papers = torch.arange(PAPERS)
        fanouts = NumNeighbors({WRITES: [2]}, default=[0])
        for method in "Neighbor", "Labor":
            sampler = pyg.NeighborSampler(g, fanouts, weight_attr="weight", method=method)
            data, = NodeLoader(self.stores(g), sampler, ("paper", papers), batch_size=PAPERS)
            self.assertGreater(data[WRITES].num_edges, PAPERS)
            self.assertTrue((g.edges[WRITES].data["weight"][data[WRITES].e_id] > 0).all())

    def test_links(self):
        for g in cora_graphs.values():
            data = pyg.FeatureStore(g, {"x": "node-feat"}), pyg.GraphStore(g)
            edges = torch.from_numpy(np.stack(g.find_edges(np.arange(100))))
            sampler = pyg.NeighborSampler(g, [3, 2], seed=1)
            for loader in (LinkLoader(data, sampler, (None, edges), neg_sampling="binary", batch_size=40),
                           LinkNeighborLoader(data, [3, 2], (None, edges), neighbor_sampler=sampler, batch_size=40,
                                              neg_sampling=NegativeSampling("binary"))):
                found = list(loader)
                self.assertEqual([len(batch.edge_label) for batch in found], [80, 80, 40])
                for batch in found:
                    positive = batch.n_id[batch.edge_label_index[:, batch.edge_label == 1]]
                    np.testing.assert_array_equal(positive, edges[:, batch.input_id])

    def test_typed_links(self):
        g = typed_graphs[2]
        edges = torch.from_numpy(np.stack(g.find_edges(np.arange(50), WRITES)))
        loader = LinkLoader(self.stores(g), pyg.NeighborSampler(g, [3]), (WRITES, edges), batch_size=30,
                            neg_sampling=NegativeSampling("triplet", 2))
        for batch in loader:
            authors = batch["author"].n_id[batch["author"].src_index]
            papers = batch["paper"].n_id[batch["paper"].dst_pos_index]
            np.testing.assert_array_equal(torch.stack([authors, papers]), edges[:, batch[WRITES].input_id])
            self.assertEqual(batch["paper"].dst_neg_index.shape, (len(authors), 2))
        copied = pyg.FeatureStore(g, TYPED_COLUMNS), pyg.GraphStore(g, copy_edges=True)
        loader = LinkLoader(copied, pyg.NeighborSampler(g, [3]), CITES, batch_size=200)
        self.assertEqual(sum(batch[CITES].edge_label_index.shape[1] for batch in loader), 500)

    def test_seeds_decide_what_is_sampled(self):
        g = cora_graphs[2]
        edges = torch.from_numpy(np.stack(g.find_edges(np.arange(90))))

        def epoch(sampler):
            torch.randn(int(torch.randint(9, (1,))))  # samples do not depend on torch's state
            loader = LinkLoader((pyg.FeatureStore(g, {}), pyg.GraphStore(g)), sampler, (None, edges), batch_size=30,
                                neg_sampling="binary")
            return [(batch.e_id.tolist(), batch.n_id[batch.edge_label_index].tolist()) for batch in loader]

        sampler = pyg.NeighborSampler(g, [2, 2], seed=4)
        before = torch.get_rng_state()
        sampler.sample_from_edges(LinkLoader((pyg.FeatureStore(g, {}), pyg.GraphStore(g)), sampler,
                                             (None, edges)).input_data[[0, 1]], NegativeSampling("binary"))
        self.assertTrue(torch.equal(before, torch.get_rng_state()))
        sampler.load_state_dict({"calls": 0, "seed": 4})
        first, state, second = epoch(sampler), sampler.state_dict(), epoch(sampler)
        self.assertNotEqual(first, second)
        self.assertEqual(epoch(pyg.NeighborSampler(g, [2, 2], seed=4)), first)
        self.assertNotEqual(epoch(pyg.NeighborSampler(g, [2, 2], seed=5)), first)
        resumed = pyg.NeighborSampler(g, [2, 2], seed=4)
        resumed.load_state_dict(state)
        self.assertEqual(epoch(resumed), second)
        with self.assertRaises(ep.InvalidArgument):
            pyg.NeighborSampler(g, [2, 2], seed=5).load_state_dict(state)

    def test_over_graph_servers(self):
        with ep.serve(cora_partitions) as servers:
            g = servers.graph()
            batches = []
            for graph in g, cora_graphs[2]:
                data = pyg.FeatureStore(graph, {"x": "node-feat"}), pyg.GraphStore(graph)
                loader = NodeLoader(data, pyg.NeighborSampler(graph, [4, 3], seed=2), torch.arange(50), batch_size=25)
                batches.append([(batch.n_id, batch.edge_index, batch.x) for batch in loader])
            for remote, local in zip(*batches, strict=True):
                for one, other in zip(remote, local):
                    self.assertTrue(torch.equal(one, other))
            worker = iter(NodeLoader(data, pyg.NeighborSampler(g, [2]), torch.arange(5), batch_size=5, num_workers=1))
            with self.assertRaisesRegex(ep.FailedPrecondition, "num_workers=0"):
                next(worker)

    def test_transforms_of_a_sample(self):
        g = cora_graphs[2]
        data = pyg.FeatureStore(g, {"x": "node-feat"}), pyg.GraphStore(g)
        loader = NodeLoader(data, pyg.NeighborSampler(g, [2, 2]), torch.arange(20), batch_size=20,
                            transform_sampler_output=lambda out: out.to_bidirectional())
        pairs = set(map(tuple, next(iter(loader)).edge_index.T.tolist()))
        self.assertEqual(pairs, {(b, a) for a, b in pairs})

    def test_refusals(self):
        g, typed = cora_graphs[2], typed_graphs[2]
        for options in dict(subgraph_type="induced"), dict(subgraph_type="bidirectional"), dict(disjoint=True), \
                dict(time_attr="year"):
            with self.assertRaises(ep.Unimplemented):
                pyg.NeighborSampler(g, [2], **options)
        with self.assertRaisesRegex(ep.Unimplemented, "DistNodeDataLoader"):
            pyg.NeighborSampler(g, [2]).sample_from_nodes(NodeSamplerInput(None, torch.arange(2), torch.arange(2)))
        with self.assertRaisesRegex(ep.InvalidArgument, "distinct"):
            pyg.NeighborSampler(g, [2]).sample_from_nodes(NodeSamplerInput(None, torch.tensor([1, 1])))
        with self.assertRaisesRegex(ep.InvalidArgument, "input_nodes="):
            pyg.NeighborSampler(typed, [2]).sample_from_nodes(NodeSamplerInput(None, torch.arange(2)))
        with self.assertRaises(ep.InvalidArgument):
            pyg.NeighborSampler(g, [2]).sample_from_nodes(NodeSamplerInput(None, torch.tensor([2708])))
        sampler = pyg.NeighborSampler(typed, [2], weight_attr="weight")  # only edges of WRITES have this column
        with self.assertRaises(ep.EspalierError):
            sampler.sample_from_nodes(NodeSamplerInput(None, torch.arange(2), None, "paper"))

    def test_without_pyg(self):
        program = "import sys; sys.modules['torch_geometric'] = None; import espalier; import espalier.pyg"
        process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
        self.assertIn("ImportError: espalier.pyg needs PyG: pip install torch torch_geometric", process.stderr)


if __name__ == "__main__":
    unittest.main()
