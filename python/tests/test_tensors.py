"""Compares DistTensor with NumPy arrays after the same assignments."""

import math
import unittest

import numpy as np

import espalier as ep
import graphs
from graphs import AUTHORS, CITES, EDGE_COUNTS, PAPERS, WRITES

DTYPES = (bool, np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32, np.uint64, np.int64, np.float16,
          np.float32, np.float64)


def setUpModule():
    global cora, cora_graphs, publications, typed_graphs
    folder = graphs.make_folder()
    cora, cora_graphs = graphs.open_cora(folder)
    publications, typed_graphs = graphs.open_publications(folder)


class EveryPartitioning(unittest.TestCase):
    """Runs a test's checks on graphs of two and of three partitions."""

    def for_all(self, check, of=None):
        for count, g in (of or cora_graphs).items():
            with self.subTest(partitions=count):
                check(g)


class Lifetime(EveryPartitioning):
    def test_create_open_drop(self):
        def check(g):
            tensor = ep.DistTensor.create(g, (7, 2, 3), np.int32, name="t", persistent=True)
            self.assertEqual((tensor.name, tensor.shape, tensor.dtype, len(tensor)), ("t", (7, 2, 3), np.int32, 7))
            tensor[[2]] = 5
            again = ep.DistTensor.create(g, (7, 2, 3), np.int32, name="t")
            opened = ep.DistTensor.open(g, "t")
            for other in (again, opened):
                self.assertEqual((other.shape, other.dtype), (tensor.shape, tensor.dtype))
                np.testing.assert_array_equal(other[[2]], np.full((1, 2, 3), 5))
            for shape, dtype in ((7, 2), np.int32), ((8, 2, 3), np.int32), ((7, 2, 3), np.int64):
                with self.assertRaises(ep.AlreadyExists):
                    ep.DistTensor.create(g, shape, dtype, name="t")
            ep.DistTensor.drop(g, "t")
            ep.DistTensor.drop(g, "t")
            with self.assertRaises(ep.NotFound):
                ep.DistTensor.open(g, "t")
            with self.assertRaises(ep.NotFound):
                tensor[[2]]

        self.for_all(check)

    def test_a_tensor_that_is_not_persistent_ends_with_its_object(self):
        def check(g):
            tensor = ep.DistTensor.create(g, 4, name="scoped")
            self.assertEqual(tensor.shape, (4,))
            ep.DistTensor.open(g, "scoped")
            del tensor
            with self.assertRaises(ep.NotFound):
                ep.DistTensor.open(g, "scoped")

        self.for_all(check)

    def test_names_belong_to_one_row_space(self):
        g = typed_graphs[2]
        of_papers = ep.DistTensor.create(g, (), name="x", ntype="paper")
        of_edges = ep.DistTensor.create(g, (), name="x", etype="writes")
        own = ep.DistTensor.create(g, 3, name="x")
        for tensor, value in (of_papers, 1), (of_edges, 2), (own, 3):
            tensor[:] = value
        self.assertEqual(ep.DistTensor.open(g, "x", ntype="paper").sum(), PAPERS)
        self.assertEqual(ep.DistTensor.open(g, "x", etype=WRITES).sum(), 2 * EDGE_COUNTS[WRITES])
        self.assertEqual(ep.DistTensor.open(g, "x").sum(), 9)
        with self.assertRaises(ep.NotFound):
            ep.DistTensor.open(g, "x", ntype="author")
        ep.DistTensor.drop(g, "x", ntype="paper")
        self.assertEqual(own.sum(), 9)

    def test_unnamed_tensors_are_distinct(self):
        g = cora_graphs[2]
        first, second = (ep.DistTensor.create(g, 3) for _ in range(2))
        self.assertNotEqual(first.name, second.name)
        first[:] = 1
        self.assertEqual(second.sum(), 0)


class Rows(EveryPartitioning):
    def test_dtypes(self):
        def check(g):
            for dtype in DTYPES:
                tensor = ep.DistTensor.create(g, (11, 2), dtype)
                self.assertEqual(tensor.dtype, np.dtype(dtype))
                values = np.array([[0, 1], [1, 0], [1, 1]], dtype)
                tensor[[10, 0, 5]] = values
                expected = np.zeros((11, 2), dtype)
                expected[[10, 0, 5]] = values
                rows = tensor[:]
                self.assertEqual(rows.dtype, np.dtype(dtype))
                np.testing.assert_array_equal(rows, expected)
            for dtype in (np.complex64, "U3", "datetime64[s]"):
                with self.assertRaisesRegex(ep.InvalidArgument, "dtype"):
                    ep.DistTensor.create(g, 3, dtype)

        self.for_all(check)

    def test_rows_of_nodes_and_edges(self):
        def check(g):
            values = np.random.default_rng(1).normal(size=(cora.num_nodes, 3)).astype(np.float32)
            nodes = g.to_global_ids(np.arange(cora.num_nodes))
            tensor = ep.DistTensor.create(g, (3,), ntype="node")
            self.assertEqual(tensor.shape, (cora.num_nodes, 3))
            tensor[nodes] = values
            np.testing.assert_array_equal(tensor[nodes[::-5]], values[::-5])
            np.testing.assert_array_equal(tensor[nodes[[4, 4]]], values[[4, 4]])
            edges = ep.DistTensor.create(g, (), np.int64, etype="edge")
            self.assertEqual(edges.shape, (10556,))
            edges[:] = np.arange(10556) ** 2
            np.testing.assert_array_equal(edges[[10555, 3, 7000]], np.array([10555, 3, 7000]) ** 2)
            self.assertEqual(edges[np.zeros(0, np.int64)].shape, (0,))

        self.for_all(check)

    def test_assigned_values_are_broadcast(self):
        def check(g):
            tensor = ep.DistTensor.create(g, (6, 2, 2), np.float64)
            expected = np.zeros((6, 2, 2))
            for ids, values in (([0, 5], 3), ([1, 2], [7, 8]), ([2, 3], [[1, 2], [3, 4]]), (4, 9),
                                ([0, 1, 2], np.arange(3).reshape(3, 1, 1)), (slice(1, 6, 2), -1), ([], 5)):
                tensor[ids] = values
                expected[ids] = values
            np.testing.assert_array_equal(tensor[:], expected)
            for ids, values in (([0, 5], np.zeros(3)), ([0], np.zeros((2, 2, 2))), ([0, 1], np.zeros((3, 2, 2)))):
                with self.assertRaisesRegex(ep.InvalidArgument, "shape"):
                    tensor[ids] = values
            np.testing.assert_array_equal(tensor[:], expected)

        self.for_all(check)

    def test_assigned_arrays_need_not_be_contiguous(self):
        g = cora_graphs[3]
        tensor = ep.DistTensor.create(g, (4, 3))
        values = np.arange(24, dtype=np.float32).reshape(6, 4).T[:, ::2]
        tensor[:] = values
        np.testing.assert_array_equal(tensor[:], values)
        tensor[:] = np.asfortranarray(values * 2)
        np.testing.assert_array_equal(tensor[:], values * 2)

    def test_slices(self):
        g = cora_graphs[2]
        tensor = ep.DistTensor.create(g, 9, np.int64)
        tensor[:] = np.arange(9)
        for rows in (slice(2, 7), slice(-3, None), slice(None, None, -1), slice(5, 2), slice(None, 100)):
            np.testing.assert_array_equal(tensor[rows], np.arange(9)[rows])
        np.testing.assert_array_equal(np.asarray(tensor), np.arange(9))
        with self.assertRaises(TypeError):
            iter(tensor)


class Accumulation(EveryPartitioning):
    def test_add_counts_repeated_rows(self):
        def check(g):
            tensor = ep.DistTensor.create(g, (30, 2), np.int64)
            ids = np.random.default_rng(2).integers(0, 30, 500)
            values = np.random.default_rng(3).integers(-9, 9, (500, 2))
            tensor.add(ids, values)
            tensor.add(ids[:100], 1)
            expected = np.zeros((30, 2), np.int64)
            np.add.at(expected, ids, values)
            np.add.at(expected, ids[:100], 1)
            np.testing.assert_array_equal(tensor[:], expected)

        self.for_all(check)

    def test_minimum_and_maximum(self):
        def check(g):
            ids = np.random.default_rng(4).integers(0, 20, 100)
            values = np.random.default_rng(5).normal(size=(100, 3)).astype(np.float32)
            for method, reference in ("minimum", np.minimum), ("maximum", np.maximum):
                tensor = ep.DistTensor.create(g, (20, 3))
                getattr(tensor, method)(ids, values)
                expected = np.zeros((20, 3), np.float32)
                reference.at(expected, ids, values)
                np.testing.assert_array_equal(tensor[:], expected)

        self.for_all(check)

    def test_union_of_masks(self):
        def check(g):
            masks = np.random.default_rng(6).random((2, cora.num_nodes)) < 0.3
            first, second = (ep.DistTensor.create(g, (), bool, ntype="node") for _ in range(2))
            first[:], second[:] = masks
            self.assertEqual((first.count_nonzero(), second.count_nonzero()), tuple(masks.sum(axis=1)))
            first.logical_or(second)
            np.testing.assert_array_equal(first[:], masks[0] | masks[1])
            np.testing.assert_array_equal(second[:], masks[1])
            np.testing.assert_array_equal(ep.node_split(first, g), np.flatnonzero(masks[0] | masks[1]))

        self.for_all(check)

    def test_reductions(self):
        sums = []

        def check(g):
            values = np.random.default_rng(7).normal(size=(cora.num_nodes, 2)).astype(np.float32)
            tensor = ep.DistTensor.create(g, (2,), ntype="node")
            tensor[g.to_global_ids(np.arange(cora.num_nodes))] = values
            self.assertEqual(tensor.sum().dtype, np.float64)
            np.testing.assert_allclose(tensor.sum(), [math.fsum(column) for column in values.T.tolist()], rtol=1e-12)
            np.testing.assert_allclose(tensor.mean(), values.mean(axis=0, dtype=np.float64), rtol=1e-9, atol=1e-12)
            np.testing.assert_array_equal(tensor.min(), values.min(axis=0))
            np.testing.assert_array_equal(tensor.max(), values.max(axis=0))
            counts = ep.DistTensor.create(g, 5, np.int16)
            counts[:] = [-3, 30000, 30000, 1, 2]
            self.assertEqual((counts.sum(), counts.sum().dtype), (60000, np.int64))
            self.assertEqual((counts.min(), counts.max(), counts.mean()), (-3, 30000, 12000))
            sums.append(tensor.sum().tobytes())

        self.for_all(check)
        self.assertEqual(*sums)


class Initializers(unittest.TestCase):
    def values(self, g, **options):
        """Returns the initial values of a tensor of authors in the order of original ids, and of a tensor of WRITES by
        number."""
        authors = ep.DistTensor.create(g, (40,), np.float64, name="i", ntype="author", **options)
        edges = ep.DistTensor.create(g, (8,), np.float64, name="i", etype=WRITES, **options)
        own = ep.DistTensor.create(g, (60, 8), np.float64, name="i", **options)
        order = np.argsort(g.edges[WRITES].data["number"][:])
        return authors[g.to_global_ids(np.arange(AUTHORS), "author")], edges[order], own[:]

    def test_random_values_depend_on_original_ids(self):
        for init, init_values, mean, deviation, low, high in (
                ("uniform", (2, 5), 3.5, 3 / math.sqrt(12), 2, 5), ("normal", (1, 0.5), 1, 0.5, -np.inf, np.inf)):
            of_all = [self.values(g, init=init, init_values=init_values, seed=3) for g in typed_graphs.values()]
            for first, second in zip(*of_all):
                np.testing.assert_array_equal(first, second)
                self.assertEqual(len(np.unique(first)), first.size)
                self.assertTrue(low <= first.min() and first.max() < high)
                self.assertLess(abs(first.mean() - mean), 6 * deviation / math.sqrt(first.size))
                self.assertLess(abs(first.std() - deviation), 0.15 * deviation)
            other = self.values(typed_graphs[2], init=init, init_values=init_values, seed=4)
            for first, second in zip(of_all[0], other):
                self.assertFalse((first == second).any())

    def test_xavier(self):
        of_all = []
        for g in typed_graphs.values():
            values = ep.DistTensor.create(g, (40,), np.float64, name="x", ntype="author", init="xavier_uniform",
                                          init_values=(2,), seed=1)[g.to_global_ids(np.arange(AUTHORS), "author")]
            bound = 2 * math.sqrt(6 / (AUTHORS + 40))
            self.assertLess(np.abs(values).max(), bound)
            self.assertGreater(np.abs(values).max(), 0.99 * bound)
            of_all.append(values)
        np.testing.assert_array_equal(*of_all)

    def test_constants(self):
        for g in typed_graphs.values():
            for init, init_values, value in ("zeros", (), 0), ("constant", (2.5,), 2.5):
                for values in self.values(g, init=init, init_values=init_values):
                    self.assertTrue((values == value).all())

    def test_numbers_of_initializers(self):
        g = typed_graphs[2]
        for init, init_values in (("ones", ()), ("constant", ()), ("uniform", (1,)), ("normal", (1, 2, 3)),
                                  ("uniform", (3, 2)), ("normal", (0, -1))):
            with self.assertRaises(ep.InvalidArgument, msg=init):
                ep.DistTensor.create(g, 3, init=init, init_values=init_values)


class Columns(unittest.TestCase):
    def test_an_attached_tensor_is_a_column_that_loaders_read(self):
        for g in cora_graphs.values():
            values = np.random.default_rng(8).integers(0, 99, (cora.num_nodes, 2))
            tensor = ep.DistTensor.create(g, (2,), np.int64, ntype="node")
            tensor[g.to_global_ids(np.arange(cora.num_nodes))] = values
            g.ndata["score"] = tensor
            self.assertIn("score", g.ndata)
            np.testing.assert_array_equal(g.ndata["score"][[3, 5]], values[g.to_original_ids([3, 5])])
            sampler = ep.NeighborSampler([3], prefetch_node_feats="score")
            loader = ep.DistNodeDataLoader(g, ep.NodesOfSplit("public"), sampler, batch_size=70)
            for batch in loader:
                np.testing.assert_array_equal(batch.blocks[0].srcdata["score"],
                                              values[g.to_original_ids(batch.input_nodes)])
            tensor[:] = 1
            self.assertTrue((next(iter(loader)).blocks[0].srcdata["score"] == 1).all())
            del g.ndata["score"]
            self.assertNotIn("score", g.ndata)
            with self.assertRaises(ep.NotFound):
                g.ndata["score"]

    def test_columns_of_edges(self):
        g = typed_graphs[2]
        tensor = ep.DistTensor.create(g, (), np.int32, etype=CITES)
        tensor[:] = np.arange(EDGE_COUNTS[CITES])
        g.edges["cites"].data["rank"] = tensor
        loader = ep.DistEdgeDataLoader(g, {CITES: np.arange(0, 500, 9)}, ep.NeighborSampler([1]), batch_size=10,
                                       edge_columns=["rank"])
        for batch in loader:
            np.testing.assert_array_equal(batch.links.columns["rank"], batch.links.edge_ids)
        del g.edges["cites"].data["rank"]

    def test_refusals(self):
        g = typed_graphs[2]
        papers = g.nodes["paper"].data
        with self.assertRaises(ep.InvalidArgument):
            papers["score"] = np.zeros(PAPERS)
        with self.assertRaises(ep.AlreadyExists):
            papers["year"] = ep.DistTensor.create(g, (), ntype="paper")
        with self.assertRaises(ep.InvalidArgument):
            papers["score"] = ep.DistTensor.create(g, PAPERS)  # its rows belong to no type
        for of in {"ntype": "author"}, {"etype": "cites"}:
            with self.assertRaises(ep.InvalidArgument):
                papers["score"] = ep.DistTensor.create(g, (), **of)
        with self.assertRaises(ep.NotFound):
            del papers["year"]
        self.assertNotIn("score", papers)


class Errors(unittest.TestCase):
    def test_rows_that_do_not_exist(self):
        g = cora_graphs[2]
        tensor = ep.DistTensor.create(g, 5)
        for ids in ([5], [0, 2 ** 40], [-1]):
            for call in (lambda: tensor[ids], lambda: tensor.add(ids, 1), lambda: tensor.__setitem__(ids, 1)):
                with self.assertRaises((ep.InvalidArgument, ep.OutOfRange)):
                    call()
        self.assertEqual(tensor.sum(), 0)

    def test_rows_are_integers(self):
        tensor = ep.DistTensor.create(cora_graphs[2], 5)
        for ids in ([0.5], [[1, 2]], np.array([True, False]), ["1"]):
            with self.assertRaisesRegex(ep.InvalidArgument, "rows must be"):
                tensor[ids]

    def test_shapes(self):
        g = cora_graphs[2]
        for shape in ((), (3, -1), (-2,)):
            with self.assertRaises(ep.InvalidArgument, msg=shape):
                ep.DistTensor.create(g, shape)
        with self.assertRaises(ep.InvalidArgument):
            ep.DistTensor.create(g, (3,), ntype="paper")

    def test_masks_are_of_bools(self):
        g = cora_graphs[2]
        mask, numbers = (ep.DistTensor.create(g, (), dtype, ntype="node") for dtype in (bool, np.float32))
        with self.assertRaises(ep.InvalidArgument):
            mask.logical_or(numbers)
        with self.assertRaises(ep.InvalidArgument):
            ep.node_split(numbers, g)
