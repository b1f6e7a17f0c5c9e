"""Tests loaders of nodes: seeds, blocks, fetched rows, order and resuming."""

import itertools
import unittest

import numpy as np

import espalier as ep
import graphs
from graphs import CITES, LIKES_PAPERS, PAPERS, WRITES

TRAIN = ep.NodesOfSplit("public", "train")


def setUpModule():
    global cora, cora_graphs, publications, typed_graphs
    folder = graphs.make_folder()
    cora, cora_graphs = graphs.open_cora(folder)
    publications, typed_graphs = graphs.open_publications(folder)


def in_original_ids(g, batch):
    """Returns the content of a batch in original ids, which is the same for every partitioning."""
    found = [batch.epoch, batch.step, g.to_original_ids(batch.output_nodes).tolist(),
             g.to_original_ids(batch.input_nodes).tolist()]
    for block in batch.blocks:
        found.append([array.tolist() for array in block.csc()])
    return found


def check_blocks(test, g, batch, pairs, fanouts):
    """Checks that the blocks of a graph with one type fit each other, and that all their edges are in `pairs` (original
    ids)."""
    for block, fanout in zip(batch.blocks, fanouts, strict=True):
        indptr, indices = block.csc()
        sources, destinations = block.srcdata[ep.NID], block.dstdata[ep.NID]
        test.assertEqual((len(sources), len(destinations)), (block.num_src_nodes(), block.num_dst_nodes()))
        test.assertEqual((len(indptr), indptr[0], indptr[-1]), (len(destinations) + 1, 0, len(indices)))
        test.assertEqual(block.num_edges(), len(indices))
        if fanout >= 0:
            test.assertLessEqual(np.diff(indptr).max(initial=0), fanout)
        np.testing.assert_array_equal(sources[:len(destinations)], destinations)
        test.assertEqual(len(np.unique(sources)), len(sources))
        if len(indices):
            test.assertTrue(0 <= indices.min() and indices.max() < len(sources))
        rows = block.edges()
        drawn = np.stack([g.to_original_ids(sources[rows[0]]), g.to_original_ids(destinations[rows[1]])], 1)
        test.assertTrue(set(map(tuple, drawn.tolist())) <= pairs)
    for before, after in itertools.pairwise(batch.blocks):
        np.testing.assert_array_equal(before.dstdata[ep.NID], after.srcdata[ep.NID])
    np.testing.assert_array_equal(batch.input_nodes, batch.blocks[0].srcdata[ep.NID])
    np.testing.assert_array_equal(batch.output_nodes, batch.blocks[-1].dstdata[ep.NID])


class Seeds(unittest.TestCase):
    def seeds_of_epoch(self, g, loader):
        return [g.to_original_ids(batch.output_nodes).tolist() for batch in loader]

    def test_every_seed_once_per_epoch(self):
        for g in cora_graphs.values():
            loader = ep.DistNodeDataLoader(g, TRAIN, ep.NeighborSampler([3, 3]), batch_size=32, seed=1)
            epochs = [self.seeds_of_epoch(g, loader) for _ in range(3)]
            for batches in epochs:
                self.assertEqual([len(batch) for batch in batches], [32, 32, 32, 32, 12])
                self.assertEqual(sorted(sum(batches, [])), sorted(cora.train.tolist()))
            self.assertNotEqual(epochs[0], epochs[1])
            self.assertNotEqual(epochs[1], epochs[2])

    def test_counts_of_seeds(self):
        loader = ep.DistNodeDataLoader(cora_graphs[3], TRAIN, ep.NeighborSampler([2]), batch_size=100)
        self.assertEqual([(batch.step, batch.num_seeds, batch.global_num_seeds) for batch in loader],
                         [(0, 100, 100), (1, 40, 40)])

    def test_drop_last(self):
        for nodes in (TRAIN, cora_graphs[2].to_global_ids(cora.train)):
            loader = ep.DistNodeDataLoader(cora_graphs[2], nodes, ep.NeighborSampler([2]), batch_size=32,
                                           drop_last=True)
            batches = self.seeds_of_epoch(cora_graphs[2], loader)
            self.assertEqual([len(batch) for batch in batches], [32] * 4)
            self.assertEqual(len(set(sum(batches, []))), 128)

    def test_without_shuffling(self):
        for g in cora_graphs.values():
            loader = ep.DistNodeDataLoader(g, TRAIN, ep.NeighborSampler([2]), batch_size=50, shuffle=False)
            self.assertEqual(sum(self.seeds_of_epoch(g, loader), []), sorted(cora.train.tolist()))
            listed = np.array([9, 2000, 5, 1, 77, 1500])
            loader = ep.DistNodeDataLoader(g, g.to_global_ids(listed), ep.NeighborSampler([2]), batch_size=4,
                                           shuffle=False)
            self.assertEqual(self.seeds_of_epoch(g, loader), [[9, 2000, 5, 1], [77, 1500]])
            none = ep.DistNodeDataLoader(g, [], ep.NeighborSampler([2]), batch_size=4)
            self.assertEqual(self.seeds_of_epoch(g, none), [])

    def test_lists_of_seeds(self):
        listed = np.random.default_rng(4).permutation(cora.num_nodes)[:100]
        epochs = []
        for g in cora_graphs.values():
            loader = ep.DistNodeDataLoader(g, g.to_global_ids(listed), ep.NeighborSampler([2]), batch_size=30, seed=8)
            epochs.append(self.seeds_of_epoch(g, loader))
            self.assertEqual(sorted(sum(epochs[-1], [])), sorted(listed.tolist()))
        self.assertEqual(*epochs)
        self.assertNotEqual(sum(epochs[0], []), listed.tolist())

    def test_a_share_of_the_only_rank_is_everything(self):
        g = cora_graphs[2]
        share = ep.node_split(TRAIN, g)
        self.assertEqual(share.largest, 140)
        np.testing.assert_array_equal(g.to_original_ids(share), np.sort(cora.train))
        mask = np.zeros(cora.num_nodes, bool)
        mask[[4, 90]] = True
        np.testing.assert_array_equal(ep.node_split(mask, g), [4, 90])
        np.testing.assert_array_equal(ep.node_split(np.array([90, 4]), g), [90, 4])
        loader = ep.DistNodeDataLoader(g, share, ep.NeighborSampler([2]), batch_size=64)
        self.assertEqual(sorted(sum(self.seeds_of_epoch(g, loader), [])), sorted(cora.train.tolist()))
        with self.assertRaisesRegex(ep.InvalidArgument, "mask"):
            ep.node_split(mask[:5], g)

    def test_columns_and_tensors_are_masks(self):
        g = typed_graphs[3]
        expected = np.flatnonzero(publications.labels[g.to_original_ids(np.arange(PAPERS), "paper")])
        label = g.nodes["paper"].data["label"]
        np.testing.assert_array_equal(ep.node_split(label, g, ntype="paper"), expected)
        mask = ep.DistTensor.create(g, (), bool, ntype="paper")
        mask[:] = label[:] != 0
        np.testing.assert_array_equal(ep.node_split(mask, g), expected)


class Batches(unittest.TestCase):
    def test_the_same_for_every_partitioning_and_number_of_threads(self):
        for sampler in (ep.NeighborSampler([4, 3]), ep.NeighborSampler([4, 3], replace=True),
                        ep.LaborSampler([4, 3]), ep.LaborSampler([4, 3], layer_dependency=True),
                        ep.MultiLayerFullNeighborSampler(2)):
            of_all = []
            for count, g in cora_graphs.items():
                loader = ep.DistNodeDataLoader(g, TRAIN, sampler, batch_size=64, seed=3, num_threads=count)
                of_all.append([in_original_ids(g, batch) for batch in loader])
            self.assertEqual(*of_all)

    def test_blocks_fit_each_other(self):
        for fanouts, sampler in (([4, 3], ep.NeighborSampler([4, 3])), ([4, 3], ep.LaborSampler([4, 3])),
                                 ([-1, -1], ep.MultiLayerFullNeighborSampler(2)),
                                 ([0, 2, 3], ep.NeighborSampler([0, 2, 3])),
                                 ([4, 3], ep.NeighborSampler([4, 3], expand="Once"))):
            for g in cora_graphs.values():
                loader = ep.DistNodeDataLoader(g, TRAIN, sampler, batch_size=70)
                for batch in loader:
                    check_blocks(self, g, batch, cora.pairs, fanouts)

    def test_full_neighborhoods(self):
        degrees = np.bincount(cora.edges[1], minlength=cora.num_nodes)
        for g in cora_graphs.values():
            loader = ep.DistNodeDataLoader(g, TRAIN, ep.MultiLayerFullNeighborSampler(2), batch_size=140)
            for block in next(iter(loader)).blocks:
                np.testing.assert_array_equal(np.diff(block.csc()[0]),
                                              degrees[g.to_original_ids(block.dstdata[ep.NID])])

    def test_replacement(self):
        degrees = np.bincount(cora.edges[1], minlength=cora.num_nodes)
        for g in cora_graphs.values():
            loader = ep.DistNodeDataLoader(g, TRAIN, ep.NeighborSampler([9, 9], replace=True), batch_size=140)
            for block in next(iter(loader)).blocks:
                nodes = g.to_original_ids(block.dstdata[ep.NID])
                np.testing.assert_array_equal(np.diff(block.csc()[0]), np.where(degrees[nodes] > 0, 9, 0))

    def edges_of_seeds(self, sampler):
        """Returns {(source, destination)} of the first batch's seeds in the first and in the second block, equal for
        every partitioning."""
        of_all = []
        for g in cora_graphs.values():
            batch = next(iter(ep.DistNodeDataLoader(g, TRAIN, sampler, batch_size=140, seed=2)))
            drawn = []
            for block in batch.blocks:
                rows = np.stack(block.edges())[:, block.edges()[1] < 140]
                drawn.append(set(zip(g.to_original_ids(block.srcdata[ep.NID][rows[0]]).tolist(),
                                     g.to_original_ids(block.dstdata[ep.NID][rows[1]]).tolist())))
            of_all.append(drawn)
        self.assertEqual(*of_all)
        return of_all[0]

    def test_each_node_is_expanded_once(self):
        for expand, repeats in ("Always", False), ("Once", True):
            first, second = self.edges_of_seeds(ep.NeighborSampler([3, 3], expand=expand))
            self.assertEqual(first == second, repeats)

    def test_layers_of_labor_depend_on_each_other(self):
        for layer_dependency in (False, True):
            first, second = self.edges_of_seeds(ep.LaborSampler([3, 3], layer_dependency=layer_dependency))
            self.assertEqual(first == second, layer_dependency)

    def test_ids_of_edges(self):
        for g in cora_graphs.values():
            batch = next(iter(ep.DistNodeDataLoader(g, TRAIN, ep.NeighborSampler([4, 3], edge_ids=True),
                                                    batch_size=32)))
            for block in batch.blocks:
                self.assertEqual(block.edge_ids().dtype, np.int64)
                sources, destinations = g.find_edges(block.edge_ids())
                np.testing.assert_array_equal(block.srcdata[ep.NID][block.edges()[0]], sources)
                np.testing.assert_array_equal(block.dstdata[ep.NID][block.edges()[1]], destinations)

    def test_fetched_rows_are_the_columns(self):
        sampler = ep.NeighborSampler([4, 3], prefetch_node_feats=["node-feat", "node-label"],
                                     prefetch_labels="node-label")
        for g in cora_graphs.values():
            for input_nodes, output_nodes, blocks in ep.DistNodeDataLoader(g, TRAIN, sampler, batch_size=64):
                inputs, outputs = g.to_original_ids(input_nodes), g.to_original_ids(output_nodes)
                np.testing.assert_array_equal(blocks[0].srcdata["node-feat"], cora.features[inputs])
                np.testing.assert_array_equal(blocks[0].srcdata["node-label"], cora.labels[inputs])
                np.testing.assert_array_equal(blocks[-1].dstdata["node-label"], cora.labels[outputs])
                self.assertNotIn("node-feat", blocks[-1].dstdata)
        with self.assertRaises(ep.NotFound):
            list(ep.DistNodeDataLoader(cora_graphs[2], TRAIN, ep.NeighborSampler([2], prefetch_labels=["year"]),
                                       batch_size=64))

    def test_arrays_outlive_batch_loader_and_graph(self):
        g = ep.DistGraph(environment=dict(ESPALIER_PARTITIONS=str(self.partitions())))
        loader = ep.DistNodeDataLoader(g, TRAIN, ep.NeighborSampler([4, 3]), batch_size=140)
        batch = next(iter(loader))
        nodes, (indptr, indices) = batch.input_nodes, batch.blocks[0].csc()
        copies = nodes.copy(), indptr.copy(), indices.copy()
        del g, loader, batch
        list(ep.DistNodeDataLoader(cora_graphs[2], TRAIN, ep.NeighborSampler([4, 3]), batch_size=7))
        for array, copy in zip((nodes, indptr, indices), copies):
            np.testing.assert_array_equal(array, copy)

    def partitions(self):
        folder = graphs.make_folder()
        return graphs.partition(graphs.CORA, "OGB", 1, folder)

    def test_no_layers(self):
        g = cora_graphs[2]
        batch = next(iter(ep.DistNodeDataLoader(g, TRAIN, ep.NeighborSampler([]), batch_size=140)))
        self.assertEqual(batch.blocks, [])
        np.testing.assert_array_equal(batch.input_nodes, batch.output_nodes)
        self.assertEqual(len(batch.output_nodes), 140)


class SeveralTypes(unittest.TestCase):
    def loader(self, g, **options):
        sampler = ep.NeighborSampler([{WRITES: 2, CITES: 3}, 2],
                                     prefetch_node_feats={"author": "feat", "paper": ["feat", "year"]},
                                     prefetch_labels={"paper": "label"})
        return ep.DistNodeDataLoader(g, ep.NodesOfSplit("random", "train", "paper"), sampler, batch_size=20, seed=6,
                                     **options)

    def test_blocks_by_type(self):
        of_all = []
        for g in typed_graphs.values():
            comparable = []
            for batch in self.loader(g):
                self.assertEqual(list(batch.output_nodes), ["author", "paper"])
                self.assertEqual(len(batch.output_nodes["author"]), 0)
                first, last = batch.blocks
                self.assertEqual(first.num_edges(LIKES_PAPERS), 0)
                for block, fanout in (first, 3), (last, 2):
                    for etype in (WRITES, CITES):
                        rows = block.edges(etype)
                        ends = [g.to_original_ids(data[ep.NID][ntype][row], ntype) for data, ntype, row in
                                zip((block.srcdata, block.dstdata), (etype[0], etype[2]), rows)]
                        pairs = set(map(tuple, publications.edges[etype].T.tolist()))
                        self.assertTrue(set(zip(*(end.tolist() for end in ends))) <= pairs)
                        self.assertLessEqual(np.bincount(rows[1], minlength=1).max(), fanout)
                        comparable.append([end.tolist() for end in ends])
                for ntype, nodes in batch.input_nodes.items():
                    originals = g.to_original_ids(nodes, ntype)
                    np.testing.assert_array_equal(first.srcdata["feat"][ntype], publications.features[ntype][originals])
                papers = g.to_original_ids(batch.input_nodes["paper"], "paper")
                np.testing.assert_array_equal(first.srcdata["year"]["paper"], publications.years[papers])
                seeds = g.to_original_ids(batch.output_nodes["paper"], "paper")
                np.testing.assert_array_equal(last.dstdata["label"]["paper"], publications.labels[seeds])
            of_all.append(comparable)
        self.assertEqual(*of_all)

    def test_seeds_by_type(self):
        g = typed_graphs[2]
        papers = g.to_global_ids([8, 100], "paper")
        loader = ep.DistNodeDataLoader(g, {"paper": papers}, ep.NeighborSampler([1]), batch_size=2, shuffle=False)
        np.testing.assert_array_equal(next(iter(loader)).output_nodes["paper"], papers)
        for nodes in (papers, {"paper": papers, "author": [0]}, {}):
            with self.assertRaises(ep.InvalidArgument):
                ep.DistNodeDataLoader(g, nodes, ep.NeighborSampler([1]), batch_size=2)
        with self.assertRaises(ep.InvalidArgument):
            ep.DistNodeDataLoader(g, {"paper": [PAPERS]}, ep.NeighborSampler([1]), batch_size=2)


class WeightsAndTimes(unittest.TestCase):
    """Tests loaders of papers over the edges of WRITES, whose weights are known, and whose numbers serve as times."""

    @classmethod
    def setUpClass(cls):
        folder = graphs.make_folder()
        source = graphs.Publications().write(folder / "publications")
        cls.timed = {count: ep.DistGraph(graphs.partition(source, "NPY", count, folder, "--time-column", "number"))
                     for count in (2, 3)}

    def drawn(self, sampler):
        """Returns the numbers of the sampled edges of each paper, and checks that they are equal for every
        partitioning."""
        of_all = []
        for g in self.timed.values():
            loader = ep.DistNodeDataLoader(g, {"paper": g.to_global_ids(np.arange(PAPERS), "paper")}, sampler,
                                           batch_size=50, seed=4)
            numbers = {}
            for batch in loader:
                block = batch.blocks[-1]
                indptr, _ = block.csc(WRITES)
                papers = g.to_original_ids(block.dstdata[ep.NID]["paper"], "paper").tolist()
                of_edges = g.edges[WRITES].data["number"][block.edge_ids(WRITES)]
                numbers.update((paper, of_edges[indptr[row]:indptr[row + 1]].tolist())
                               for row, paper in enumerate(papers))
            self.assertEqual(sorted(numbers), list(range(PAPERS)))
            of_all.append(numbers)
        self.assertEqual(*of_all)
        return of_all[0]

    def in_edges(self, paper):
        return np.flatnonzero(publications.edges[WRITES][1] == paper)

    def test_edges_without_weight_are_not_drawn(self):
        drawn = self.drawn(ep.NeighborSampler([{WRITES: 2}], prob="weight", edge_ids=True))
        for paper, numbers in drawn.items():
            heavy = [number for number in self.in_edges(paper) if publications.weights[number] > 0]
            self.assertEqual(len(numbers), min(2, len(heavy)))
            self.assertTrue(set(numbers) <= set(heavy))

    def test_the_latest_edges(self):
        for paper, numbers in self.drawn(ep.LastSampler([{WRITES: 2}], edge_ids=True)).items():
            self.assertEqual(sorted(numbers), self.in_edges(paper)[-2:].tolist())

    def test_no_edge_is_later_than_its_seed(self):
        sampler = ep.NeighborSampler([{WRITES: -1}], time_column="number", seed_time_column="until", edge_ids=True)
        for paper, numbers in self.drawn(sampler).items():
            edges = self.in_edges(paper)
            self.assertEqual(sorted(numbers), edges[edges <= publications.until[paper]].tolist())


class Resumption(unittest.TestCase):
    def loader(self, g):
        return ep.DistNodeDataLoader(g, TRAIN, ep.NeighborSampler([3, 3]), batch_size=32, seed=5)

    def test_state_resumes_in_the_middle(self):
        g = cora_graphs[2]
        undisturbed = self.loader(g)
        expected = [in_original_ids(g, batch) for _ in range(3) for batch in undisturbed]
        self.assertEqual(undisturbed.state_dict(), {"epoch": 3, "step": 0, "batch_size": 32, "seed": 5})
        for consumed in (0, 3, 5, 7):
            stopped = self.loader(g)
            batches = itertools.chain.from_iterable(iter(stopped) for _ in range(2))
            for _ in range(consumed):
                next(batches)
            state = stopped.state_dict()
            resumed = self.loader(cora_graphs[3])
            resumed.load_state_dict(state)
            following = []
            while resumed.state_dict()["epoch"] < 3:
                following += [in_original_ids(cora_graphs[3], batch) for batch in resumed]
            self.assertEqual(following, expected[consumed:])

    def test_an_abandoned_epoch_ends(self):
        g = cora_graphs[2]
        undisturbed = self.loader(g)
        epochs = [[in_original_ids(g, batch) for batch in undisturbed] for _ in range(3)]
        for last_step in (0, 4):
            loader = self.loader(g)
            for batch in loader:
                if batch.step == last_step:
                    break
            self.assertEqual([in_original_ids(g, batch) for batch in loader], epochs[1])
            self.assertEqual([in_original_ids(g, batch) for batch in loader], epochs[2])

    def test_set_epoch(self):
        g = cora_graphs[2]
        loader = self.loader(g)
        epochs = [[in_original_ids(g, batch) for batch in loader] for _ in range(2)]
        loader.set_epoch(1)
        self.assertEqual([in_original_ids(g, batch) for batch in loader], epochs[1])
        loader.set_epoch(0)
        self.assertEqual([in_original_ids(g, batch) for batch in loader], epochs[0])
        self.assertEqual({batch[0] for batch in epochs[1]}, {1})
