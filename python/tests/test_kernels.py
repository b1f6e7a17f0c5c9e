"""Tests the bindings of the kernels with NumPy arrays: results against loops over edges, gradients against each other,
and invalid arguments."""

import unittest

import numpy as np

import espalier as ep
from espalier import _core

SOURCES, ROWS = 7, 4
INDPTR = np.array([0, 3, 3, 5, 9], np.int32)  # row 1 has no edges
INDICES = np.array([0, 1, 6, 2, 0, 3, 4, 4, 6], np.int32)
PAIRS = [(source, row) for row in range(ROWS) for source in INDICES[INDPTR[row]:INDPTR[row + 1]]]
HEADS, COLUMNS = 2, 3
WIDTH = HEADS * COLUMNS
SLOPE = 0.25


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def empty(*shape, dtype=np.float32):
    return np.full(shape, 9, dtype)


def edges_of(**options):
    return _core.Edges(INDPTR, INDICES, SOURCES, **options)


def leaky(values):
    return np.where(values > 0, values, SLOPE * values)


class Sums(unittest.TestCase):
    def test_sums_are_of_the_edges(self):
        x, out = numbers(SOURCES, WIDTH), empty(ROWS, WIDTH)
        edges_of().sum(x, out)
        expected = np.zeros_like(out)
        for source, row in PAIRS:
            expected[row] += x[source]
        np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-6)

    def test_scales_and_first_rows(self):
        x, out = numbers(SOURCES, WIDTH), empty(ROWS, WIDTH)
        scales = [numbers(size, seed=size) for size in (SOURCES, ROWS, ROWS)]
        edges_of().sum(x, out, source_scale=scales[0], initial=x[:ROWS], initial_scale=scales[1],
                       result_scale=scales[2])
        expected = scales[1][:, None] * x[:ROWS]
        for source, row in PAIRS:
            expected[row] += scales[0][source] * x[source]
        np.testing.assert_allclose(out, scales[2][:, None] * expected, rtol=1e-5, atol=1e-6)

    def test_rows_by_source_are_the_transposed_sum(self):
        y, out = numbers(ROWS, WIDTH), empty(SOURCES, WIDTH)
        edges_of().sum(y, out, by_source=True)
        expected = np.zeros_like(out)
        for source, row in PAIRS:
            expected[source] += y[row]
        np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-6)

    def test_columns_of_a_wider_matrix(self):
        both, out = numbers(SOURCES, 2 * WIDTH), empty(ROWS, 2 * WIDTH)
        edges_of().sum(both[:, WIDTH:], out[:, :WIDTH])
        alone = empty(ROWS, WIDTH)
        edges_of().sum(np.ascontiguousarray(both[:, WIDTH:]), alone)
        np.testing.assert_array_equal(out[:, :WIDTH], alone)
        np.testing.assert_array_equal(out[:, WIDTH:], 9)

    def test_self_edges_are_last(self):
        edges = edges_of(self_edges=True)
        self.assertEqual((edges.num_rows, edges.num_sources, edges.num_edges), (ROWS, SOURCES, len(PAIRS) + ROWS))
        x, out = numbers(SOURCES, WIDTH), empty(ROWS, WIDTH)
        edges.sum(x, out)
        without = empty(ROWS, WIDTH)
        edges_of().sum(x, without)
        np.testing.assert_allclose(out, without + x[:ROWS], rtol=1e-5, atol=1e-6)

    def test_maxima_and_their_gradients(self):
        x, out = numbers(SOURCES, WIDTH), empty(ROWS, WIDTH)
        winners = np.zeros((ROWS, WIDTH), np.int32)
        edges = edges_of()
        edges.max(x, out, winners)
        gradient, of_x = numbers(ROWS, WIDTH, seed=1), empty(SOURCES, WIDTH)
        edges.max_gradient(gradient, winners, of_x)
        expected, of_expected = np.zeros_like(out), np.zeros_like(of_x)
        for row in range(ROWS):
            sources = INDICES[INDPTR[row]:INDPTR[row + 1]]
            for column in range(WIDTH if len(sources) else 0):
                best = sources[x[sources, column].argmax()]
                expected[row, column] = x[best, column]
                of_expected[best, column] += gradient[row, column]
        np.testing.assert_array_equal(out, expected)
        np.testing.assert_allclose(of_x, of_expected, rtol=1e-6)

    def test_threads_do_not_change_a_bit(self):
        rng = np.random.default_rng(3)
        indptr = np.arange(0, 60001, 3, dtype=np.int32)
        edges = _core.Edges(indptr, rng.integers(0, 30000, 60000, dtype=np.int32), 30000)
        x, found = numbers(30000, 16), []
        for threads in (1, 3):
            out, of_x = empty(20000, 16), empty(30000, 16)
            edges.sum(x, out, threads=threads)
            edges.sum(out, of_x, by_source=True, threads=threads)
            found.append((out, of_x))
        for one, three in zip(*found):
            np.testing.assert_array_equal(one, three)


class Attention(unittest.TestCase):
    def setUp(self):
        self.edges = edges_of()
        self.sources = np.array([source for source, _ in PAIRS])
        self.rows = np.array([row for _, row in PAIRS])

    def test_scores(self):
        s, d, scores = numbers(SOURCES, HEADS), numbers(ROWS, HEADS, seed=1), empty(len(PAIRS), HEADS)
        self.edges.additive_scores(s, d, SLOPE, scores)
        np.testing.assert_allclose(scores, leaky(s[self.sources] + d[self.rows]), rtol=1e-5)

        s, d, a = numbers(SOURCES, WIDTH), numbers(ROWS, WIDTH, seed=1), numbers(HEADS, COLUMNS, seed=2)
        self.edges.dynamic_scores(s, d, a, SLOPE, scores)
        by_head = leaky(s[self.sources] + d[self.rows]).reshape(-1, HEADS, COLUMNS)
        np.testing.assert_allclose(scores, (by_head * a).sum(axis=2), rtol=1e-4, atol=1e-5)

        self.edges.dots(HEADS, s, d, scores)
        by_head = (s[self.sources] * d[self.rows]).reshape(-1, HEADS, COLUMNS)
        np.testing.assert_allclose(scores, by_head.sum(axis=2), rtol=1e-4, atol=1e-5)

    def test_softmax_and_weighted_sums(self):
        scores, weights = numbers(len(PAIRS), HEADS), empty(len(PAIRS), HEADS)
        self.edges.softmax(scores, weights)
        exponents = np.exp(scores)
        totals = np.zeros((ROWS, HEADS))
        np.add.at(totals, self.rows, exponents)
        np.testing.assert_allclose(weights, exponents / totals[self.rows], rtol=1e-5)

        x, out = numbers(SOURCES, WIDTH, seed=1), empty(ROWS, WIDTH)
        self.edges.weighted_sum(weights, x, out)
        expected = np.zeros((ROWS, HEADS, COLUMNS))
        np.add.at(expected, self.rows, weights[:, :, None] * x[self.sources].reshape(-1, HEADS, COLUMNS))
        np.testing.assert_allclose(out, expected.reshape(ROWS, WIDTH), rtol=1e-5, atol=1e-6)

        y, back = numbers(ROWS, WIDTH, seed=2), empty(SOURCES, WIDTH)
        self.edges.weighted_sum(weights, y, back, by_source=True)
        np.testing.assert_allclose((back * x).sum(), (out * y).sum(), rtol=1e-4)  # <W^T y, x> = <y, W x>

    def test_masks_depend_on_the_endpoints(self):
        sources, rows = np.arange(SOURCES) + 100, np.arange(ROWS) + 200
        factors = empty(len(PAIRS), 11)
        self.edges.dropout_factors(0.5, 7, sources, rows, factors)
        self.assertEqual(set(factors.reshape(-1)), {0, 2})
        moved = _core.Edges(INDPTR, SOURCES - 1 - INDICES, SOURCES)
        again = empty(len(PAIRS), 11)
        moved.dropout_factors(0.5, 7, np.ascontiguousarray(sources[::-1]), rows, again)
        np.testing.assert_array_equal(factors, again)
        np.testing.assert_array_equal(factors[6], factors[7])  # parallel edges are both kept or both dropped


class Masks(unittest.TestCase):
    def test_masks_depend_on_ids_not_positions(self):
        ids = np.array([5, 900, 2**40, 3, 8], np.int64)
        key = _core.dropout_key(1, 2, 3, 0, 0)
        factors, permuted = empty(5, 40), empty(5, 40)
        _core.dropout_factors(0.5, [(key, ids)], factors)
        self.assertEqual(set(factors.reshape(-1)), {0, 2})
        order = np.array([4, 2, 0, 1, 3])
        _core.dropout_factors(0.5, [(key, ids[order][:2]), (key, ids[order][2:])], permuted)
        np.testing.assert_array_equal(permuted, factors[order])

    def test_keys_differ(self):
        keys = {_core.dropout_key(1, 0, 0, 0, 0), _core.dropout_key(2, 0, 0, 0, 0), _core.dropout_key(1, 1, 0, 0, 0),
                _core.dropout_key(1, 0, 1, 0, 0), _core.dropout_key(1, 0, 0, 1, 0), _core.dropout_key(1, 0, 0, 0, 1),
                _core.input_dropout_key(1, 0, 0, 0), _core.attention_dropout_key(1, 0, 0, 0, 0)}
        self.assertEqual(len(keys), 8)

    def test_bias_relu_and_mask_in_one_pass(self):
        x, bias, ids = numbers(6, WIDTH), numbers(WIDTH, seed=1), np.arange(6)
        factors, out, passes = empty(6, WIDTH), x.copy(), empty(6, WIDTH, dtype=np.uint8)
        _core.dropout_factors(0.5, [(7, ids)], factors)
        _core.bias_relu_dropout(out, bias, 0.5, [(7, ids)], passes)
        np.testing.assert_allclose(out, np.maximum(x + bias, 0) * factors, rtol=1e-6)
        gradient, of_x, of_bias = numbers(6, WIDTH, seed=2), empty(6, WIDTH), empty(WIDTH)
        _core.bias_relu_dropout_gradient(gradient, passes, 0.5, of_x, of_bias)
        np.testing.assert_array_equal(of_x, np.where(x + bias > 0, gradient * factors, 0))
        np.testing.assert_allclose(of_bias, of_x.sum(axis=0), rtol=1e-5, atol=1e-6)


class Refusals(unittest.TestCase):
    def refused(self, words, function, *arguments, **options):
        with self.assertRaisesRegex(ep.InvalidArgument, words):
            function(*arguments, **options)

    def test_indices_that_do_not_exist(self):
        make = _core.Edges
        self.refused(r"indices has 7 at position 2; there are 7 source rows", make, INDPTR,
                     np.array([0, 1, 7, 2, 0, 3, 4, 4, 6], np.int32), SOURCES)
        self.refused(r"indices has -1 at position 0", make, INDPTR, INDICES - 1, SOURCES)
        self.refused("descends after row 1", make, np.array([0, 9, 3, 9], np.int32), INDICES, SOURCES)
        self.refused("must begin with 0 and end with the number of edges, 9", make, INDPTR[:-1], INDICES, SOURCES)
        self.refused("must begin with 0", make, np.array([-4, 9], np.int32), INDICES, SOURCES)
        self.refused("must begin with 0", make, np.zeros(0, np.int32), INDICES, SOURCES)
        self.refused("num_sources must be from 0", make, INDPTR, INDICES, -1)
        self.refused("num_sources must be from 0", make, INDPTR, INDICES, 2**40)
        self.refused("indices must be int32", make, INDPTR, INDICES.astype(np.int64), SOURCES)
        self.refused("indptr must be one-dimensional", make, INDPTR[None], INDICES, SOURCES)
        self.refused("indices must be contiguous", make, INDPTR, np.repeat(INDICES, 2)[::2], SOURCES)
        self.refused("more rows than there are sources", make, np.zeros(5, np.int32), INDICES[:0], 3, self_edges=True)

    def test_a_block_may_change_after_the_call(self):
        indices = INDICES.copy()
        edges = _core.Edges(INDPTR, indices, SOURCES)
        indices[:] = 2**30
        x, out, expected = numbers(SOURCES, WIDTH), empty(ROWS, WIDTH), empty(ROWS, WIDTH)
        edges.sum(x, out)
        edges_of().sum(x, expected)
        np.testing.assert_array_equal(out, expected)

    def test_arrays_that_do_not_fit(self):
        edges, x, out = edges_of(), numbers(SOURCES, WIDTH), empty(ROWS, WIDTH)
        self.refused(r"source must have the shape \[7, 6\], not \[6, 6\]", edges.sum, x[1:], out)
        self.refused(r"out must have the shape \[4, 6\], not \[4, 5\]", edges.sum, x, out[:, 1:])
        self.refused("source must be float32", edges.sum, x.astype(np.float64), out)
        self.refused("source must be a matrix", edges.sum, x[0], out)
        self.refused("source must have contiguous rows that do not overlap", edges.sum, np.asfortranarray(x), out)
        self.refused("contiguous rows that do not overlap", edges.sum, x[::-1], out)
        self.refused(r"source_scale must have the shape \[7\]", edges.sum, x, out, source_scale=x[0])
        self.refused(r"initial must have the shape", edges.sum, x, out, initial=x[:, 1:])
        self.refused("threads must be from 1", edges.sum, x, out, threads=0)
        self.refused(r"winners must be int32", edges.max, x, out, empty(ROWS, WIDTH))
        scores = empty(len(PAIRS), HEADS)
        self.refused(r"weights must have the shape \[9, 2\], not \[8, 2\]", edges.softmax, scores, scores[1:])
        self.refused("cannot be divided into 4 heads", edges.weighted_sum, empty(len(PAIRS), 4), x, out)
        self.refused("cannot be divided into 0 heads", edges.dots, 0, x, out, scores)
        self.refused(r"source_ids must have the shape \[7\]", edges.dropout_factors, 0.5, 1, np.arange(3), np.arange(4),
                     scores)
        with self.assertRaises(TypeError):
            edges.sum(x, None)
        read_only = empty(ROWS, WIDTH)
        read_only.setflags(write=False)
        with self.assertRaises(TypeError):
            edges.sum(x, read_only)

    def test_masks_that_do_not_fit(self):
        factors = empty(3, 4)
        self.refused("dropout must be from 0 to below 1", _core.dropout_factors, 1.0, [(1, np.arange(3))], factors)
        self.refused("dropout must be from 0 to below 1", _core.dropout_factors, float("nan"), [], factors)
        self.refused("masks have 2 original ids for 3 rows", _core.dropout_factors, 0.5, [(1, np.arange(2))], factors)
        self.refused("original ids must be int64", _core.dropout_factors, 0.5, [(1, np.arange(3, dtype=np.int32))],
                     factors)


if __name__ == "__main__":
    unittest.main()
