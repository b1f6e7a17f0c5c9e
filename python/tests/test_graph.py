"""Compares DistGraph, one-hop sampling, subgraphs, blocks and walks with the arrays that were partitioned."""

import unittest

import numpy as np

import espalier as ep
import graphs
from graphs import AUTHORS, CITES, EDGE_COUNTS, LIKES_AUTHORS, LIKES_PAPERS, PAPERS, WRITES, pairs_of, sorted_rows


def setUpModule():
    global cora, cora_graphs, publications, typed_graphs
    folder = graphs.make_folder()
    cora, cora_graphs = graphs.open_cora(folder)
    publications, typed_graphs = graphs.open_publications(folder)


class Description(unittest.TestCase):
    def test_one_type(self):
        for count, g in cora_graphs.items():
            self.assertEqual((g.name, g.rank(), g.world_size), ("cora", 0, 1))
            self.assertEqual(g.ntypes, ["node"])
            self.assertEqual(g.etypes, ["edge"])
            self.assertEqual(g.canonical_etypes, [("node", "edge", "node")])
            self.assertEqual(g.num_nodes(), cora.num_nodes)
            self.assertEqual(g.number_of_nodes("node"), cora.num_nodes)
            self.assertEqual(g.num_edges(), cora.edges.shape[1])
            self.assertEqual(g.number_of_edges("node:edge:node"), cora.edges.shape[1])
            self.assertEqual(g.node_splits, {("node", "public"): {"train": 140, "validation": 500, "test": 1000}})
            self.assertEqual(g.edge_splits, {})
            self.assertIn(f"num_partitions={count}", repr(g))

    def test_several_types(self):
        for g in typed_graphs.values():
            self.assertEqual(sorted(g.ntypes), ["author", "paper"])
            self.assertEqual(sorted(g.canonical_etypes), sorted(EDGE_COUNTS))
            self.assertEqual(g.etypes, [relation for _, relation, _ in g.canonical_etypes])
            self.assertEqual((g.num_nodes(), g.num_nodes("author")), (AUTHORS + PAPERS, AUTHORS))
            self.assertEqual(g.num_edges(), sum(EDGE_COUNTS.values()))
            for name in (WRITES, "author:writes:paper", "writes"):
                self.assertEqual(g.num_edges(name), EDGE_COUNTS[WRITES])
            self.assertEqual(g.num_edges(LIKES_AUTHORS), EDGE_COUNTS[LIKES_AUTHORS])
            self.assertEqual(g.edge_splits, {(WRITES, "rated"): {"train": 300, "validation": 50, "test": 50},
                                             (WRITES, "linked"): {"train": 90, "validation": 0, "test": 0},
                                             (CITES, "linked"): {"train": 60, "validation": 0, "test": 0}})

    def test_names_must_be_one_type(self):
        g = typed_graphs[2]
        for call in (lambda: g.num_edges("likes"), lambda: g.edges["likes"].data, lambda: g.ndata, lambda: g.edata,
                     lambda: g.find_edges([0]), lambda: g.to_global_ids([0]), lambda: ep.in_subgraph(g, [0]),
                     lambda: g.num_nodes("venue"), lambda: g.num_edges("author:writes:author"),
                     lambda: ep.sample_neighbors(g, {"paper": [0]}, {"likes": 1})):
            with self.assertRaises(ep.InvalidArgument):
                call()
        with self.assertRaisesRegex(ep.InvalidArgument, "'likes'.*author:likes:author.*author:likes:paper"):
            g.num_edges("likes")


class Rows(unittest.TestCase):
    def test_ids_of_the_input_and_back(self):
        for g in cora_graphs.values():
            originals = np.random.default_rng(1).permutation(cora.num_nodes)
            nodes = g.to_global_ids(originals)
            self.assertEqual(nodes.dtype, np.int64)
            self.assertEqual(sorted(nodes.tolist()), list(range(cora.num_nodes)))
            back = g.to_original_ids(nodes)
            self.assertEqual(back.dtype, np.int64)
            np.testing.assert_array_equal(back, originals)

    def test_columns_of_nodes(self):
        nodes_of_input = np.array([2707, 5, 5, 0, 1433])
        for g in cora_graphs.values():
            self.assertIn("node-feat", g.ndata)
            self.assertNotIn("feat", g.ndata)
            column = g.ndata["node-feat"]
            self.assertEqual((column.shape, column.dtype, len(column)), ((2708, 1433), np.float32, 2708))
            self.assertEqual((g.ndata["node-label"].shape, g.ndata["node-label"].dtype), ((2708,), np.int64))
            nodes = g.to_global_ids(nodes_of_input)
            rows = column[nodes]
            self.assertEqual((rows.dtype, rows.shape), (np.float32, (5, 1433)))
            np.testing.assert_array_equal(rows, cora.features[nodes_of_input])
            np.testing.assert_array_equal(g.nodes["node"].data["node-label"][nodes], cora.labels[nodes_of_input])
            rows[:] = 0  # the caller owns the array
            np.testing.assert_array_equal(column[nodes], cora.features[nodes_of_input])
            first_ten = g.ndata["node-label"][:10]
            np.testing.assert_array_equal(first_ten, cora.labels[g.to_original_ids(np.arange(10))])
            self.assertEqual(column[[]].shape, (0, 1433))
            np.testing.assert_array_equal(np.asarray(g.ndata["node-label"]),
                                          cora.labels[g.to_original_ids(np.arange(cora.num_nodes))])
            with self.assertRaises(TypeError):
                iter(column)  # would send one request per row

    def test_ids_of_many_kinds(self):
        g = cora_graphs[2]
        expected = g.ndata["node-label"][np.array([3, 9], np.int64)]
        for ids in ([3, 9], (3, 9), np.array([3, 9], np.int32), np.array([3, 9], np.uint64),
                    np.array([3, 0, 9, 0])[::2], np.array([3, 9], np.uint8)):
            np.testing.assert_array_equal(g.ndata["node-label"][ids], expected)

    def test_columns_of_several_types(self):
        for g in typed_graphs.values():
            for ntype, features in publications.features.items():
                nodes = g.to_global_ids(np.arange(len(features)), ntype)
                np.testing.assert_array_equal(g.nodes[ntype].data["feat"][nodes], features)
            papers = g.to_global_ids(np.arange(PAPERS), "paper")
            years = g.nodes["paper"].data["year"]
            self.assertEqual(years.dtype, np.int16)
            np.testing.assert_array_equal(years[papers], publications.years)
            with self.assertRaisesRegex(ep.NotFound, "year"):
                g.nodes["author"].data["year"]

    def test_columns_of_edges(self):
        for g in typed_graphs.values():
            edges = np.arange(EDGE_COUNTS[WRITES])
            columns = g.edges["writes"].data
            numbers = columns["number"][edges]
            self.assertEqual(sorted(numbers.tolist()), edges.tolist())
            self.assertEqual((columns["rating"].shape, columns["rating"].dtype), ((400, 2), np.int32))
            np.testing.assert_array_equal(columns["rating"][edges], publications.ratings[numbers])
            np.testing.assert_array_equal(columns["weight"][edges], publications.weights[numbers])
            ends = pairs_of(g, g.find_edges(edges, WRITES), "author", "paper")
            np.testing.assert_array_equal(ends, publications.edges[WRITES].T[numbers])
            with self.assertRaises(ep.NotFound):
                g.edges[CITES].data["number"]


class Structure(unittest.TestCase):
    def test_find_edges_gives_each_edge_of_the_input(self):
        for g in cora_graphs.values():
            sources, destinations = g.find_edges(np.arange(g.num_edges()))
            self.assertEqual((sources.dtype, destinations.dtype), (np.int64, np.int64))
            np.testing.assert_array_equal(sorted_rows(pairs_of(g, (sources, destinations))), sorted_rows(cora.edges.T))
            some = g.find_edges([77, 3, 77])
            np.testing.assert_array_equal(some[0], sources[[77, 3, 77]])
            np.testing.assert_array_equal(some[1], destinations[[77, 3, 77]])

    def test_degrees(self):
        for g in cora_graphs.values():
            nodes = g.to_global_ids(np.arange(cora.num_nodes))
            degrees = g.in_degrees(nodes)
            self.assertEqual(degrees.dtype, np.int64)
            np.testing.assert_array_equal(degrees, np.bincount(cora.edges[1], minlength=cora.num_nodes))
            np.testing.assert_array_equal(g.out_degrees(nodes), np.bincount(cora.edges[0], minlength=cora.num_nodes))
        for g in typed_graphs.values():
            for etype, edges in publications.edges.items():
                for ntype, row, degrees_of in (etype[0], 0, g.out_degrees), (etype[2], 1, g.in_degrees):
                    count = g.num_nodes(ntype)
                    degrees = degrees_of(g.to_global_ids(np.arange(count), ntype), etype)
                    np.testing.assert_array_equal(degrees, np.bincount(edges[row], minlength=count))

    def test_splits(self):
        for g in cora_graphs.values():
            for part in ("train", "validation", "test"):
                nodes = g.split_nodes("public", part)
                np.testing.assert_array_equal(g.to_original_ids(nodes), np.sort(getattr(cora, part)))
        for g in typed_graphs.values():
            for part, ids in publications.split.items():
                np.testing.assert_array_equal(g.to_original_ids(g.split_nodes("random", part, "paper"), "paper"),
                                              np.sort(ids))
            for part, rows in publications.rated.items():
                ends = pairs_of(g, g.split_edges("rated", part, "writes"), "author", "paper")
                np.testing.assert_array_equal(ends, publications.edges[WRITES].T[rows])
        with self.assertRaises(ep.NotFound):
            cora_graphs[2].split_nodes("random")
        with self.assertRaisesRegex(ep.InvalidArgument, "valid"):
            cora_graphs[2].split_nodes("public", "valid")

    def test_partition_book(self):
        for count, g in cora_graphs.items():
            book = g.get_partition_book()
            self.assertEqual(book.num_partitions(), count)
            nodes, edges = book.node_ranges(), book.edge_ranges()
            self.assertEqual((len(nodes), nodes[0], nodes[-1]), (count + 1, 0, cora.num_nodes))
            self.assertEqual((len(edges), edges[0], edges[-1]), (count + 1, 0, cora.edges.shape[1]))
            self.assertTrue((np.diff(nodes) > 0).all())
            all_nodes = np.arange(cora.num_nodes)
            owners = book.nid2partid(all_nodes)
            np.testing.assert_array_equal(owners, np.repeat(np.arange(count), np.diff(nodes)))
            _, destinations = g.find_edges(np.arange(g.num_edges()))
            np.testing.assert_array_equal(book.eid2partid(np.arange(g.num_edges())), owners[destinations])
            mine = all_nodes[owners == 1]
            np.testing.assert_array_equal(book.nid2localnid(mine, 1), np.arange(len(mine)))
            for call in (lambda: book.nid2partid([cora.num_nodes]), lambda: book.eid2partid([cora.edges.shape[1]]),
                         lambda: book.nid2localnid([nodes[1]], 0), lambda: book.nid2localnid([0], count)):
                with self.assertRaises(ep.InvalidArgument):
                    call()

    def test_edge_subgraph(self):
        for g in typed_graphs.values():
            chosen = {"writes": np.array([399, 7, 7, 250]), CITES: np.array([12, 0])}
            nodes, relations = g.edge_subgraph(chosen)
            self.assertEqual(sorted(relations), [WRITES, CITES])
            for etype, key in (WRITES, "writes"), (CITES, CITES):
                ids, sources, destinations = relations[etype]
                np.testing.assert_array_equal(np.sort(ids), np.sort(chosen[key]))
                expected = g.find_edges(ids, etype)
                np.testing.assert_array_equal(nodes[etype[0]][sources], expected[0])
                np.testing.assert_array_equal(nodes[etype[2]][destinations], expected[1])
            for ids in nodes.values():
                self.assertEqual(len(np.unique(ids)), len(ids))
            self.assertEqual(set(nodes["author"].tolist()), set(g.find_edges(chosen["writes"], WRITES)[0].tolist()))


class Sampling(unittest.TestCase):
    seeds = np.arange(0, 2708, 7)  # original ids

    def sample(self, g, fanout=4, **options):
        return ep.sample_neighbors(g, g.to_global_ids(self.seeds), fanout, **options)

    def test_fan_out(self):
        degrees = np.bincount(cora.edges[1], minlength=cora.num_nodes)[self.seeds]
        drawn_of_all = []
        for g in cora_graphs.values():
            frontier = self.sample(g, seed=11)
            pairs = pairs_of(g, frontier.edges())
            drawn_of_all.append(pairs)
            self.assertEqual(frontier.num_edges(), len(pairs))
            self.assertTrue(set(map(tuple, pairs.tolist())) <= cora.pairs)
            self.assertEqual(len(np.unique(pairs, axis=0)), len(pairs))
            drawn = np.bincount(pairs[:, 1], minlength=cora.num_nodes)[self.seeds]
            np.testing.assert_array_equal(drawn, np.minimum(degrees, 4))
            np.testing.assert_array_equal(g.find_edges(frontier.edge_ids()), frontier.edges())
        np.testing.assert_array_equal(*drawn_of_all)

    def test_seed_and_hop(self):
        g = cora_graphs[2]
        first = self.sample(g, seed=11).edge_ids()
        np.testing.assert_array_equal(self.sample(g, seed=11).edge_ids(), first)
        self.assertFalse(np.array_equal(self.sample(g, seed=12).edge_ids(), first))
        self.assertFalse(np.array_equal(self.sample(g, seed=11, hop=1).edge_ids(), first))

    def test_replacement(self):
        degrees = np.bincount(cora.edges[1], minlength=cora.num_nodes)[self.seeds]
        for g in cora_graphs.values():
            pairs = pairs_of(g, self.sample(g, 9, replace=True).edges())
            drawn = np.bincount(pairs[:, 1], minlength=cora.num_nodes)[self.seeds]
            np.testing.assert_array_equal(drawn, np.where(degrees > 0, 9, 0))
            self.assertTrue(set(map(tuple, pairs.tolist())) <= cora.pairs)

    def test_labor_draws_fewer_nodes(self):
        sources = {}
        for method in ("Neighbor", "Labor"):
            drawn = [pairs_of(g, self.sample(g, 3, method=method).edges()) for g in cora_graphs.values()]
            np.testing.assert_array_equal(*drawn)
            sources[method] = len(np.unique(drawn[0][:, 0]))
        self.assertLess(sources["Labor"], sources["Neighbor"])

    def test_weights(self):
        drawn = []
        for g in typed_graphs.values():
            frontier = ep.sample_neighbors(g, {"paper": np.arange(PAPERS)}, {WRITES: 2}, prob="weight", seed=3)
            self.assertEqual(frontier.canonical_etypes, [WRITES])
            numbers = g.edges[WRITES].data["number"][frontier.edge_ids(WRITES)]
            self.assertTrue((publications.weights[numbers] > 0).all())
            heavy = np.bincount(publications.edges[WRITES][1][publications.weights > 0], minlength=PAPERS)
            per_paper = np.bincount(publications.edges[WRITES][1][numbers], minlength=PAPERS)
            np.testing.assert_array_equal(per_paper, np.minimum(heavy, 2))
            drawn.append(np.sort(numbers))
        np.testing.assert_array_equal(*drawn)

    def test_out_edges_are_refused(self):
        with self.assertRaises(ep.InvalidArgument):
            ep.sample_neighbors(cora_graphs[2], [0], 1, edge_dir="out")

    def test_in_subgraph_is_complete(self):
        for g in cora_graphs.values():
            pairs = pairs_of(g, ep.in_subgraph(g, g.to_global_ids(self.seeds)).edges())
            expected = cora.edges.T[np.isin(cora.edges[1], self.seeds)]
            np.testing.assert_array_equal(sorted_rows(pairs), sorted_rows(expected))
        for g in typed_graphs.values():
            authors, papers = np.array([3, 49]), np.array([0, 119, 60])
            frontier = ep.in_subgraph(g, {"author": g.to_global_ids(authors, "author"),
                                          "paper": g.to_global_ids(papers, "paper")})
            for etype, edges in publications.edges.items():
                expected = edges.T[np.isin(edges[1], authors if etype[2] == "author" else papers)]
                pairs = pairs_of(g, frontier.edges(etype), etype[0], etype[2])
                np.testing.assert_array_equal(sorted_rows(pairs), sorted_rows(expected))

    def test_to_block(self):
        for g in cora_graphs.values():
            seeds = g.to_global_ids(self.seeds)
            frontier = self.sample(g, 5)
            block = ep.to_block(g, frontier, seeds)
            sources = block.srcdata[ep.NID]
            np.testing.assert_array_equal(block.dstdata[ep.NID], seeds)
            np.testing.assert_array_equal(sources[:len(seeds)], seeds)
            self.assertEqual(len(np.unique(sources)), block.num_src_nodes())
            self.assertEqual(set(sources.tolist()), set(seeds.tolist()) | set(frontier.edges()[0].tolist()))
            rows = block.edges()
            np.testing.assert_array_equal(sources[rows[0]], frontier.edges()[0])
            np.testing.assert_array_equal(seeds[rows[1]], frontier.edges()[1])
            np.testing.assert_array_equal(block.edge_index(), np.stack(rows))
            np.testing.assert_array_equal(block.edge_ids(), frontier.edge_ids())
            indptr, indices = block.csc()
            self.assertEqual((indptr.dtype, indices.dtype, block.edges()[0].dtype), (np.int32, np.int32, np.int64))
            self.assertEqual((indptr[0], indptr[-1], len(indptr)), (0, len(indices), len(seeds) + 1))

    def test_to_block_with_other_destinations(self):
        for g in cora_graphs.values():
            seeds = g.to_global_ids(self.seeds)
            frontier = self.sample(g, 5)
            others = np.setdiff1d(np.arange(g.num_nodes()), seeds)[:3]
            for wanted in seeds[::-1], np.concatenate([others[:1], seeds[::-1], others[1:]]), None:
                block = ep.to_block(g, frontier, wanted)
                nodes, rows = block.srcdata[ep.NID], block.edges()
                np.testing.assert_array_equal(block.dstdata[ep.NID], np.unique(frontier.edges()[1])
                                              if wanted is None else wanted)
                found = np.stack([nodes[rows[0]], nodes[rows[1]], block.edge_ids()], 1)
                expected = np.stack([*frontier.edges(), frontier.edge_ids()], 1)
                np.testing.assert_array_equal(sorted_rows(found), sorted_rows(expected))
            with self.assertRaisesRegex(ep.InvalidArgument, "dst_nodes lacks"):
                ep.to_block(g, frontier, seeds[1:])
            with self.assertRaisesRegex(ep.InvalidArgument, "distinct"):
                ep.to_block(g, frontier, np.concatenate([seeds, seeds[:1]]))

    def test_to_block_of_several_types(self):
        for g in typed_graphs.values():
            papers = g.to_global_ids([5, 3], "paper")
            frontier = ep.in_subgraph(g, {"paper": papers})
            block = ep.to_block(g, frontier, {"paper": papers})
            self.assertEqual((block.num_dst_nodes("author"), block.num_dst_nodes("paper")), (0, 2))
            for etype in (WRITES, CITES, LIKES_PAPERS):
                rows = block.edges(etype)
                sources = block.srcdata[ep.NID][etype[0]][rows[0]]
                np.testing.assert_array_equal(sources, frontier.edges(etype)[0])
                np.testing.assert_array_equal(papers[rows[1]], frontier.edges(etype)[1])


class Nothing(unittest.TestCase):
    def test_no_nodes_and_no_edges(self):
        for g in cora_graphs.values():
            for frontier in ep.sample_neighbors(g, [], 3), ep.in_subgraph(g, []):
                self.assertEqual([ids.tolist() for ids in frontier.edges()], [[], []])
                self.assertEqual(ep.to_block(g, frontier, []).num_src_nodes(), 0)
            self.assertEqual([ids.shape for ids in g.find_edges([])], [(0,), (0,)])
            self.assertEqual(ep.random_walk(g, [], ["edge"] * 2).shape, (0, 3))
            self.assertEqual(ep.pinsage_neighbors(g, [], ["edge"])[0].tolist(), [0])
            self.assertEqual(g.edge_subgraph([])[0]["node"].tolist(), [])
            self.assertEqual(g.to_global_ids([]).tolist(), [])


class Walks(unittest.TestCase):
    def test_steps_are_in_edges_backwards(self):
        walks_of_all = []
        for g in cora_graphs.values():
            starts = g.to_global_ids(np.arange(0, 300))
            walks = ep.random_walk(g, starts, ["edge"] * 4, walks_per_node=2, restart_prob=[0, 0.2, 0.2, 0.2], seed=5)
            self.assertEqual((walks.shape, walks.dtype), ((600, 5), np.int64))
            np.testing.assert_array_equal(walks[:, 0], np.repeat(starts, 2))
            originals = np.full_like(walks, -1)
            originals[walks >= 0] = g.to_original_ids(walks[walks >= 0])
            ended = originals < 0
            self.assertTrue((ended[:, 1:] >= ended[:, :-1]).all())  # no nodes after the end of a walk
            self.assertTrue(ended.any())
            for step in range(4):
                taken = ~ended[:, step + 1]
                steps = zip(originals[taken, step + 1].tolist(), originals[taken, step].tolist())
                self.assertTrue(set(steps) <= cora.pairs)
            walks_of_all.append(originals)
        np.testing.assert_array_equal(*walks_of_all)

    def test_metapath(self):
        written, cited = (set(map(tuple, publications.edges[etype].T.tolist())) for etype in (WRITES, CITES))
        for g in typed_graphs.values():
            walks = ep.random_walk(g, g.to_global_ids(np.arange(PAPERS), "paper"), [CITES, "writes"])
            for start, paper, author in walks.tolist():
                if paper >= 0:
                    start, paper = g.to_original_ids([start, paper], "paper").tolist()
                    self.assertIn((paper, start), cited)
                if author >= 0:
                    self.assertIn((g.to_original_ids([author], "author")[0], paper), written)
            with self.assertRaises(ep.InvalidArgument):
                ep.random_walk(g, [0], [WRITES, CITES])  # an author has no in-edges of CITES

    def test_pinsage_neighbors(self):
        of_all = []
        for g in cora_graphs.values():
            seeds = g.to_global_ids(np.arange(100))
            offsets, neighbors, visits = ep.pinsage_neighbors(g, seeds, ["edge"], num_traversals=2,
                                                              termination_prob=0.5, num_neighbors=3, seed=9)
            self.assertEqual((len(offsets), offsets[0], offsets[-1]), (101, 0, len(neighbors)))
            self.assertEqual(len(visits), len(neighbors))
            self.assertLessEqual(np.diff(offsets).max(), 3)
            self.assertGreater(visits.min(), 0)
            originals = g.to_original_ids(neighbors)
            sources_of = {}
            for source, destination in cora.pairs:
                sources_of.setdefault(destination, set()).add(source)
            for seed in range(100):
                rows = slice(offsets[seed], offsets[seed + 1])
                within_two = sources_of[seed].union(*(sources_of[node] for node in sources_of[seed]))
                self.assertTrue(set(originals[rows].tolist()) <= within_two)
                self.assertTrue((np.diff(visits[rows]) <= 0).all())
            of_all.append((originals, visits))
        for three, two in zip(*of_all):
            np.testing.assert_array_equal(three, two)
