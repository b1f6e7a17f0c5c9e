"""Compares espalier.nn.functional with torch's own operations in float64, and gradients with finite differences."""

import unittest

import numpy as np
import torch

import espalier as ep
import references as ref
from espalier.nn import functional as F

HEADS, COLUMNS = 3, 4
WIDTH = HEADS * COLUMNS


class Operations(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)
        self.block = ref.random_block()
        self.edges = F.Edges.of_block(self.block)
        self.sources, self.rows = ref.ends(self.block)
        self.num_src, self.num_dst = self.block.num_src_nodes(), self.block.num_dst_nodes()

    def check(self, operation, reference, *shapes):
        """Calls both functions with random tensors of these shapes. Expects equal values and gradients to 1e-5.
        Gradients must also agree with finite differences along a random direction, with steps of 2^-7 in float32, to 1
        % of the gradient's length."""
        inputs = [torch.randn(shape) for shape in shapes]
        single = [x.clone().requires_grad_() for x in inputs]
        double = [x.double().requires_grad_() for x in inputs]
        found, expected = operation(*single), reference(*double)
        torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=1e-5)
        weights = torch.randn(found.shape)
        (found * weights).sum().backward()
        (expected * weights.double()).sum().backward()
        for one, other in zip(single, double):
            torch.testing.assert_close(one.grad.double(), other.grad, rtol=1e-4, atol=1e-5)

        directions = [torch.randn(shape) for shape in shapes]
        step = 2.0**-7

        def objective(sign):
            with torch.no_grad():
                moved = [x + sign * step * d for x, d in zip(inputs, directions)]
                return (operation(*moved).double() * weights.double()).sum().item()

        slope = sum((x.grad.double() * d.double()).sum().item() for x, d in zip(single, directions))
        length = sum(x.grad.double().pow(2).sum().item() for x in single) ** 0.5
        self.assertLess(abs((objective(1) - objective(-1)) / (2 * step) - slope), 0.01 * max(length, 1))

    def test_sums(self):
        self.check(lambda x: F.segment_sum(self.edges, x), lambda x: ref.sums(x[self.sources], self.rows, self.num_dst),
                   (self.num_src, WIDTH))

    def test_scaled_sums(self):
        source, own, result = np.random.default_rng(2).uniform(0.5, 2, (3, self.num_src)).astype(np.float32)
        own, result = own[:self.num_dst], result[:self.num_dst]
        scales = [torch.from_numpy(array).double()[:, None] for array in (source, own, result)]

        def reference(x, with_self=True):
            sums = ref.sums((scales[0] * x)[self.sources], self.rows, self.num_dst)
            return scales[2] * (sums + scales[1] * x[:self.num_dst] if with_self else sums)

        shape = (self.num_src, WIDTH)
        self.check(lambda x: F.segment_sum(self.edges, x, source, own, result), reference, shape)
        self.check(lambda x: F.segment_sum(self.edges, x, source, None, result), lambda x: reference(x, False), shape)
        self.check(lambda x: F.segment_sum(self.edges, x, self_scale=own),
                   lambda x: ref.sums(x[self.sources], self.rows, self.num_dst) + scales[1] * x[:self.num_dst], shape)

    def test_means(self):
        def mean(x):
            return ref.means(x[self.sources], self.rows, self.num_dst)

        shape = (self.num_src, WIDTH)
        self.check(lambda x: F.segment_mean(self.edges, x), mean, shape)
        self.check(lambda x: F.self_and_mean(self.edges, x), lambda x: torch.cat([x[:self.num_dst], mean(x)], 1), shape)
        sources, rows = ref.ends(self.block, self_loops=True)
        self.check(lambda x: F.segment_mean(self.edges, x, with_self=True),
                   lambda x: ref.means(x[sources], rows, self.num_dst), shape)

    def test_maxima(self):
        self.check(lambda x: F.segment_max(self.edges, x),
                   lambda x: ref.maxima(x[self.sources], self.rows, self.num_dst), (self.num_src, WIDTH))

    def test_scores(self):
        def leaky(x):
            return torch.nn.functional.leaky_relu(x, 0.2)

        self.check(lambda s, d: F.additive_scores(self.edges, s, d, 0.2),
                   lambda s, d: leaky(s[self.sources] + d[self.rows]), (self.num_src, HEADS), (self.num_dst, HEADS))
        self.check(lambda s, d, a: F.dynamic_scores(self.edges, s, d, a, 0.2),
                   lambda s, d, a: (leaky(s[self.sources] + d[self.rows]).view(-1, HEADS, COLUMNS) * a).sum(2),
                   (self.num_src, WIDTH), (self.num_dst, WIDTH), (HEADS, COLUMNS))
        self.check(lambda s, d: F.edge_dots(self.edges, HEADS, s, d),
                   lambda s, d: (s[self.sources] * d[self.rows]).view(-1, HEADS, COLUMNS).sum(2),
                   (self.num_src, WIDTH), (self.num_dst, WIDTH))

    def test_softmax_and_weighted_sums(self):
        self.check(lambda e: F.edge_softmax(self.edges, e), lambda e: ref.softmax(e, self.rows, self.num_dst),
                   (self.edges.num_edges, HEADS))

        def weighted(w, x):
            messages = w.unsqueeze(2) * x[self.sources].view(-1, HEADS, COLUMNS)
            return ref.sums(messages, self.rows, self.num_dst).reshape(-1, WIDTH)

        self.check(lambda w, x: F.weighted_sum(self.edges, w, x), weighted, (self.edges.num_edges, HEADS),
                   (self.num_src, WIDTH))

    def test_bias_relu_and_dropout(self):
        ids = np.arange(20, dtype=np.int64) * 7
        for probability in (0, 0.5):
            masks = [(11, ids[:8]), (12, ids[8:])]
            factors = F.drop_elements(torch.ones(20, 6), probability, masks).double()
            self.check(lambda x, b: F.bias_relu_dropout_(x * 1, b, probability, masks),
                       lambda x, b: torch.relu(x + b) * factors, (20, 6), (6,))
        self.assertTrue(((factors == 0) | (factors == 2)).all() and 20 < (factors == 0).sum() < 100)

    def test_gradients_are_computed_only_if_needed(self):
        x = torch.randn(self.num_src, WIDTH)
        weights = torch.randn(self.edges.num_edges, HEADS, requires_grad=True)
        F.weighted_sum(self.edges, weights, x).sum().backward()
        self.assertIsNone(x.grad)
        self.assertIsNotNone(weights.grad)

    def test_threads_do_not_change_a_bit(self):
        block = ref.random_block(30000, 10000, 200000)
        found = []
        before = torch.get_num_threads()
        self.addCleanup(torch.set_num_threads, before)
        for threads in (1, 3):
            torch.set_num_threads(threads)
            x = torch.randn(30000, 8, generator=torch.Generator().manual_seed(1)).requires_grad_()
            y = F.self_and_mean(F.Edges.of_block(block), x)
            y.square().sum().backward()
            found.append((y.detach(), x.grad))
        for one, three in zip(*found):
            self.assertTrue(torch.equal(one, three))

    def test_refusals(self):
        for words, call in (
                ("source must be float32", lambda: F.segment_sum(self.edges, torch.zeros(9, 2, dtype=torch.float64))),
                (r"shape \[9, 2\], not \[8, 2\]", lambda: F.segment_sum(self.edges, torch.zeros(8, 2))),
                (r"source_scale must have the shape \[9\]",
                 lambda: F.segment_sum(self.edges, torch.zeros(9, 2), [1, 2])),
                ("there are 9 source rows", lambda: F.Edges([0, 1], [9], 9)),
                ("from 0 to below", lambda: F.Edges([0, 1], [-1], 9)),
                ("indices must be integers", lambda: F.Edges([0, 1], [0.5], 9)),
                ("masks have 3 original ids for 4 rows",
                 lambda: F.drop_elements(torch.zeros(4, 2), 0.5, [(1, np.arange(3))]))):
            with self.subTest(words), self.assertRaisesRegex(ep.InvalidArgument, words):
                call()


if __name__ == "__main__":
    unittest.main()
