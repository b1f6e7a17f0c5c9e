"""Tests loaders of edges: seed edges, negatives, excluded edges and columns."""

import unittest

import numpy as np

import espalier as ep
import graphs
from graphs import CITES, LIKES_AUTHORS, WRITES
from test_loaders import check_blocks, in_original_ids

RATED = ep.EdgesOfSplit("rated", "train", WRITES)


def setUpModule():
    global cora, cora_graphs, publications, typed_graphs
    folder = graphs.make_folder()
    cora, cora_graphs = graphs.open_cora(folder)
    publications, typed_graphs = graphs.open_publications(folder)


def ends_of(g, batch, rows=None):
    """Returns the seed edges of a batch, or pairs of rows, of WRITES in original ids: [edges, 2]."""
    sources, destinations = (batch.links.sources, batch.links.destinations) if rows is None else rows
    nodes = batch.output_nodes
    all_nodes = np.concatenate([nodes.get(ntype, np.zeros(0, np.int64)) for ntype in g.ntypes])
    kinds = np.repeat(g.ntypes, [len(nodes.get(ntype, ())) for ntype in g.ntypes])
    assert (kinds[sources] == "author").all() and (kinds[destinations] == "paper").all()
    return np.stack([g.to_original_ids(all_nodes[sources].ravel(), "author"),
                     g.to_original_ids(all_nodes[destinations].ravel(), "paper")], 1)


class SeedEdges(unittest.TestCase):
    def test_every_edge_of_a_split_once_per_epoch(self):
        of_all = []
        for g in typed_graphs.values():
            loader = ep.DistEdgeDataLoader(g, RATED, ep.NeighborSampler([2, 2]), batch_size=64, seed=4)
            epochs = [[ends_of(g, batch).tolist() for batch in loader] for _ in range(2)]
            self.assertNotEqual(*epochs)
            for batches in epochs:
                self.assertEqual([len(batch) for batch in batches], [64] * 4 + [44])
                expected = publications.edges[WRITES].T[publications.rated["train"]]
                self.assertEqual(sorted(sum(batches, [])), sorted(expected.tolist()))
            of_all.append(epochs)
        self.assertEqual(*of_all)

    def test_columns_and_ids(self):
        number_of = {tuple(pair): number for number, pair in enumerate(publications.edges[WRITES].T.tolist())}
        for g in typed_graphs.values():
            loader = ep.DistEdgeDataLoader(g, RATED, ep.NeighborSampler([2]), batch_size=128, edge_ids=True,
                                           edge_columns=["rating", "weight"])
            for batch in loader:
                numbers = [number_of[tuple(pair)] for pair in ends_of(g, batch).tolist()]
                np.testing.assert_array_equal(batch.links.columns["rating"], publications.ratings[numbers])
                np.testing.assert_array_equal(batch.links.columns["weight"], publications.weights[numbers])
                np.testing.assert_array_equal(g.edges[WRITES].data["number"][batch.links.edge_ids], numbers)
                self.assertEqual(batch.links.relations.tolist(), [0] * len(numbers))
                self.assertEqual((batch.num_seeds, batch.global_num_seeds), (len(numbers),) * 2)

    def test_lists_of_edges(self):
        for g in typed_graphs.values():
            edges = np.array([7, 300, 12, 88, 399])
            loader = ep.DistEdgeDataLoader(g, {"writes": edges}, ep.NeighborSampler([2]), batch_size=3, shuffle=False,
                                           edge_columns=["number"])
            batches = list(loader)
            np.testing.assert_array_equal(np.concatenate([batch.links.edge_ids for batch in batches]), edges)
            np.testing.assert_array_equal(np.concatenate([batch.links.columns["number"] for batch in batches]),
                                          g.edges[WRITES].data["number"][edges])
            for given, batch in zip(([7, 300, 12], [88, 399]), batches):
                np.testing.assert_array_equal(ends_of(g, batch), publications.edges[WRITES].T[
                    g.edges[WRITES].data["number"][given]])

    def test_a_share_of_the_only_rank_is_everything(self):
        for g in typed_graphs.values():
            share = ep.edge_split(RATED, g, columns=["rating"], ids=True)
            self.assertEqual((len(share), share.largest), (300, 300))
            numbers = g.edges[WRITES].data["number"][share.ids]
            np.testing.assert_array_equal(np.sort(numbers), np.sort(publications.rated["train"]))
            np.testing.assert_array_equal(share.columns["rating"], publications.ratings[numbers])
            seen = []
            for batch in ep.DistEdgeDataLoader(g, share, ep.NeighborSampler([2]), batch_size=70, drop_last=True):
                seen += batch.links.edge_ids.tolist()
            self.assertEqual(len(seen), 280)
            self.assertEqual(len(set(seen)), 280)
            self.assertTrue(set(seen) <= set(share.ids.tolist()))

    def test_shares_of_lists_and_masks(self):
        for g in typed_graphs.values():
            weights = g.edges[WRITES].data["weight"]
            mask = ep.DistTensor.create(g, (), bool, etype=WRITES)
            mask[:] = weights[:] > 0
            heavy = np.flatnonzero(publications.weights[g.edges[WRITES].data["number"][:]])
            for edges, ids in ((np.array([5, 9]), [5, 9]), (mask, heavy), (weights, heavy), (weights[:] > 0, heavy)):
                share = ep.edge_split(edges, g, etype="writes")
                np.testing.assert_array_equal(share.ids, ids)
                self.assertEqual(share.largest, len(ids))
                np.testing.assert_array_equal((share.sources, share.destinations), g.find_edges(ids, WRITES))

    def test_several_types(self):
        g = typed_graphs[2]
        for edges in ({"writes": [1], "cites": [2]}, {}):
            with self.assertRaises(ep.InvalidArgument):
                ep.DistEdgeDataLoader(g, edges, ep.NeighborSampler([1]), batch_size=2)
        with self.assertRaises(ep.InvalidArgument):
            ep.DistEdgeDataLoader(g, np.array([1]), ep.NeighborSampler([1]), batch_size=2)
        loader = ep.DistEdgeDataLoader(g, {LIKES_AUTHORS: [0, 1]}, ep.NeighborSampler([1]), batch_size=2,
                                       shuffle=False)
        batch = next(iter(loader))
        nodes = batch.output_nodes["author"]
        np.testing.assert_array_equal(nodes[batch.links.sources], g.find_edges([0, 1], LIKES_AUTHORS)[0])
        np.testing.assert_array_equal(nodes[batch.links.destinations], g.find_edges([0, 1], LIKES_AUTHORS)[1])


    def test_a_split_of_several_types(self):
        """Batches mix the types, contain each edge once, and are the same for every partitioning."""
        etypes = [CITES, WRITES]
        of_all = []
        for g in typed_graphs.values():
            loader = ep.DistEdgeDataLoader(g, ep.EdgesOfSplit("linked", "train", etypes), ep.NeighborSampler([2]),
                                           batch_size=32, seed=3, negative_sampler=ep.negative_sampler.Uniform(2))
            self.assertEqual(len(loader), 5)
            epoch = []
            for batch in loader:
                kinds = np.repeat(g.ntypes, [len(batch.output_nodes[ntype]) for ntype in g.ntypes])
                ids = np.concatenate([g.to_original_ids(batch.output_nodes[ntype], ntype) for ntype in g.ntypes])
                links = batch.links
                sources, destinations, _ = links.negatives()
                self.assertEqual(set(links.relations.tolist()), {0, 1})
                for number, (source, _, destination) in enumerate(etypes):
                    chosen = links.relations == number
                    self.assertEqual(set(kinds[links.sources[chosen]]), {source})
                    self.assertEqual(set(kinds[links.destinations[chosen]]), {destination})
                    self.assertEqual(set(kinds[destinations[chosen]].ravel()), {destination})
                    np.testing.assert_array_equal(sources[chosen], np.stack([links.sources[chosen]] * 2, 1))
                epoch.append(np.stack([links.relations, ids[links.sources], ids[links.destinations],
                                       *ids[destinations].T]).tolist())
            of_all.append(epoch)
            edges = np.concatenate([np.array(batch)[:3] for batch in epoch], 1)
            for number, etype in enumerate(etypes):
                expected = publications.edges[etype][:, publications.linked[etype]]
                np.testing.assert_array_equal(graphs.sorted_rows(edges[1:, edges[0] == number].T),
                                              graphs.sorted_rows(expected.T))
        self.assertEqual(*of_all)


class Negatives(unittest.TestCase):
    def check(self, sampler, count, batch_size=50):
        """Returns (seed edges, sources, destinations, valid) of the first batch, equal for every partitioning."""
        of_all = []
        for g in typed_graphs.values():
            loader = ep.DistEdgeDataLoader(g, RATED, ep.NeighborSampler([2]), batch_size=batch_size, seed=9,
                                           negative_sampler=sampler)
            batch = next(iter(loader))
            sources, destinations, valid = batch.links.negatives()
            for array in (sources, destinations, valid):
                self.assertEqual(array.shape, (batch_size, count))
            self.assertEqual(valid.dtype, bool)
            seeds = ends_of(g, batch)
            drawn = ends_of(g, batch, (sources, destinations)).reshape(batch_size, count, 2)
            of_all.append([seeds, drawn, valid])
        for first, second in zip(*of_all):
            np.testing.assert_array_equal(first, second)
        edges = set(map(tuple, seeds.tolist()))
        for pairs, said in zip(drawn.tolist(), valid.tolist()):
            # An edge of the batch does not count as a negative.
            self.assertEqual([tuple(pair) not in edges for pair in pairs], said)
        return seeds, drawn[..., 0], drawn[..., 1], valid

    def test_uniform(self):
        seeds, sources, destinations, _ = self.check(ep.negative_sampler.Uniform(4), 4)
        np.testing.assert_array_equal(sources, np.repeat(seeds[:, :1], 4, axis=1))
        self.assertGreater(len(np.unique(destinations)), 80)

    def test_edges_share_joint_negatives(self):
        seeds, sources, destinations, _ = self.check(ep.negative_sampler.Joint(5), 5)
        np.testing.assert_array_equal(sources, np.repeat(seeds[:, :1], 5, axis=1))
        for begin in range(0, 50, 5):
            np.testing.assert_array_equal(destinations[begin:begin + 5],
                                          np.repeat(destinations[begin:begin + 1], 5, axis=0))
        self.assertGreater(len(np.unique(destinations)), 20)

    def test_joint_negatives_of_a_short_last_set(self):
        seeds, sources, destinations, _ = self.check(ep.negative_sampler.Joint(4), 4, batch_size=50)
        np.testing.assert_array_equal(sources, np.repeat(seeds[:, :1], 4, axis=1))
        np.testing.assert_array_equal(destinations[48], destinations[49])

    def test_both_ends_are_drawn(self):
        seeds, sources, destinations, _ = self.check(ep.negative_sampler.GlobalUniform(3), 3)
        self.assertTrue((sources != np.repeat(seeds[:, :1], 3, axis=1)).any())
        self.assertGreater(len(np.unique(destinations)), 60)

    def test_in_degree(self):
        seeds, sources, destinations, _ = self.check(ep.negative_sampler.InDegree(3), 3)
        np.testing.assert_array_equal(sources, np.repeat(seeds[:, :1], 3, axis=1))
        trained = publications.edges[WRITES][1][publications.rated["train"]]
        self.assertTrue(set(destinations.ravel().tolist()) <= set(trained.tolist()))

    def test_in_batch(self):
        g = typed_graphs[2]
        loader = ep.DistEdgeDataLoader(g, RATED, ep.NeighborSampler([2]), batch_size=48, seed=9,
                                       negative_sampler=ep.negative_sampler.InBatch(3))
        batch = next(iter(loader))
        seeds = ends_of(g, batch)
        sources, destinations, valid = batch.links.negatives()
        drawn = ends_of(g, batch, (sources, destinations)).reshape(48, 3, 2)
        np.testing.assert_array_equal(drawn[..., 0], np.repeat(seeds[:, :1], 3, axis=1))
        edges = set(map(tuple, seeds.tolist()))
        for position in range(48):
            group = position // 4 * 4
            others = [number for number in range(group, group + 4) if number != position]
            self.assertEqual(sorted(drawn[position, :, 1].tolist()), sorted(seeds[others, 1].tolist()))
        np.testing.assert_array_equal(valid.ravel(), [tuple(p) not in edges for p in drawn.reshape(-1, 2).tolist()])

    def test_without_negatives(self):
        g = typed_graphs[2]
        batch = next(iter(ep.DistEdgeDataLoader(g, RATED, ep.NeighborSampler([2]), batch_size=50)))
        self.assertEqual(batch.links.negatives_per_edge, 0)
        self.assertEqual([array.shape for array in batch.links.negatives()], [(50, 0)] * 3)
        node_batch = next(iter(ep.DistNodeDataLoader(g, ep.NodesOfSplit("random", "train", "paper"),
                                                     ep.NeighborSampler([2]), batch_size=5)))
        self.assertIsNone(node_batch.links)


class ExcludedEdges(unittest.TestCase):
    """Tests with Cora, which has every edge in both directions."""

    edges = np.arange(0, 10556, 29)

    def pairs_of_batch(self, g, batch):
        links, nodes = batch.links, g.to_original_ids(batch.output_nodes)
        return set(zip(nodes[links.sources].tolist(), nodes[links.destinations].tolist()))

    def sampled(self, g, **options):
        """Yields (pairs of the seed edges, pairs in the blocks) of each batch, in original ids."""
        loader = ep.DistEdgeDataLoader(g, self.edges, ep.MultiLayerFullNeighborSampler(2), batch_size=40, **options)
        for batch in loader:
            check_blocks(self, g, batch, cora.pairs, [-1, -1])
            drawn = set()
            for block in batch.blocks:
                rows = block.edges()
                drawn |= set(zip(g.to_original_ids(block.srcdata[ep.NID][rows[0]]).tolist(),
                                 g.to_original_ids(block.dstdata[ep.NID][rows[1]]).tolist()))
            yield self.pairs_of_batch(g, batch), drawn

    def test_excluded_edges(self):
        for g in cora_graphs.values():
            for seeds, drawn in self.sampled(g, exclude="self"):
                reverses = {(b, a) for a, b in seeds} - seeds
                self.assertFalse(seeds & drawn)
                self.assertTrue(reverses <= drawn)
            for exclude in ("reverse_id", "reverse_types"):
                for seeds, drawn in self.sampled(g, exclude=exclude):
                    self.assertFalse((seeds | {(b, a) for a, b in seeds}) & drawn)
            for seeds, drawn in self.sampled(g, exclude=None):
                self.assertTrue(seeds <= drawn)
        with self.assertRaisesRegex(ep.InvalidArgument, "reverse_id"):
            next(self.sampled(cora_graphs[2], exclude="reverse"))

    def test_reverse_types(self):
        """CITES is used as the reverse type of itself."""
        for g in typed_graphs.values():
            edges = np.arange(0, 500, 3)
            loader = ep.DistEdgeDataLoader(g, {CITES: edges}, ep.MultiLayerFullNeighborSampler(1), batch_size=500,
                                           exclude="reverse_types", reverse_etypes={"cites": "cites"}, shuffle=False)
            block = next(iter(loader)).blocks[0]
            rows = block.edges(CITES)
            drawn = set(zip(block.srcdata[ep.NID]["paper"][rows[0]].tolist(),
                            block.dstdata[ep.NID]["paper"][rows[1]].tolist()))
            seeds = set(zip(*(ends.tolist() for ends in g.find_edges(edges, CITES))))
            self.assertTrue(drawn)
            self.assertFalse(drawn & (seeds | {(b, a) for a, b in seeds}))

    def test_resumes(self):
        def loader(g):
            return ep.DistEdgeDataLoader(g, self.edges, ep.NeighborSampler([3]), batch_size=50, seed=2,
                                         negative_sampler=ep.negative_sampler.Uniform(1))

        g = cora_graphs[3]
        expected = [in_original_ids(g, batch) for batch in loader(g)]
        stopped = loader(g)
        batches = iter(stopped)
        for _ in range(4):
            next(batches)
        resumed = loader(g)
        resumed.load_state_dict(stopped.state_dict())
        self.assertEqual([in_original_ids(g, batch) for batch in resumed], expected[4:])
