"""Compares values and parameter gradients of espalier.nn's layers with their formulas, written with torch's own
operations in float64."""

import copy
import unittest

import numpy as np
import torch
from torch.nn import functional as tf

import espalier as ep
import espalier.nn
import references as ref

IN, OUT, HEADS = 6, 4, 3


class LayerTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(2)
        self.block = ref.random_block()
        self.sources, self.rows = ref.ends(self.block)
        self.num_src, self.num_dst = self.block.num_src_nodes(), self.block.num_dst_nodes()
        self.x = torch.randn(self.num_src, IN)

    def check(self, layer, found, expected, *inputs):
        """Expects that found(layer, float32 inputs) equals expected(float64 copy of the layer, float64 inputs),
        including gradients of inputs and parameters, with relative tolerance 1e-4."""
        with torch.no_grad():
            for parameter in layer.parameters():  # biases are initialized with zeros
                parameter.add_(0.1 * torch.randn(parameter.shape))
        twin = copy.deepcopy(layer).double()
        single = [x.clone().requires_grad_() for x in inputs]
        double = [x.double().requires_grad_() for x in inputs]
        results = found(layer, *single), expected(twin, *double)
        torch.testing.assert_close(results[0].double(), results[1], rtol=1e-4, atol=1e-5)
        weights = torch.randn(results[0].shape)
        (results[0] * weights).sum().backward()
        (results[1] * weights.double()).sum().backward()
        for one, other in zip((*single, *layer.parameters()), (*double, *twin.parameters())):
            torch.testing.assert_close(one.grad.double(), other.grad, rtol=1e-4, atol=1e-4)

    def mean(self, messages):
        return ref.means(messages, self.rows, self.num_dst)

    def sum(self, messages):
        return ref.sums(messages, self.rows, self.num_dst)


class Sage(LayerTest):
    def expected(self, aggregator, weights=None, destination=None):
        def formula(layer, x, *more):
            own = x[:self.num_dst] if destination is None else more[-1]
            w = 1 if weights is None else more[0][:, None]
            if aggregator == "mean":
                return layer.fc_self(own) + layer.fc_neigh(self.mean(w * x[self.sources]))
            if aggregator == "pool":
                pooled = torch.relu(layer.fc_pool(x))
                largest = ref.maxima(w * pooled[self.sources], self.rows, self.num_dst)
                return layer.fc_self(own) + layer.fc_neigh(largest)
            degrees = torch.bincount(self.rows, minlength=self.num_dst).double()[:, None]
            return layer.fc_neigh((self.sum(w * x[self.sources]) + own) / (degrees + 1)) + layer.bias

        return formula

    def test_aggregators(self):
        for aggregator in ("mean", "gcn", "pool"):
            layer = ep.nn.SAGEConv(IN, OUT, aggregator)
            with self.subTest(aggregator):
                self.check(layer, lambda layer, x: layer(self.block, x), self.expected(aggregator), self.x)

    def test_edge_weights(self):
        weights = torch.rand(len(self.rows)) + 0.5
        for aggregator in ("mean", "gcn", "pool"):
            with self.subTest(aggregator):
                self.check(ep.nn.SAGEConv(IN, OUT, aggregator),
                           lambda layer, x, w: layer(self.block, x, edge_weight=w),
                           self.expected(aggregator, weights), self.x, weights)

    def test_pairs(self):
        for aggregator, width in (("mean", 3), ("gcn", IN), ("pool", 3)):
            with self.subTest(aggregator):
                self.check(ep.nn.SAGEConv((IN, width), OUT, aggregator), lambda layer, x, y: layer(self.block, (x, y)),
                           self.expected(aggregator, destination=True), self.x, torch.randn(self.num_dst, width))

    def test_norm_and_activation(self):
        layer = ep.nn.SAGEConv(IN, OUT, "mean", activation=torch.relu, norm=lambda rows: 2 * rows)
        plain = self.expected("mean")
        self.check(layer, lambda layer, x: layer(self.block, x), lambda layer, x: 2 * torch.relu(plain(layer, x)),
                   self.x)

    def test_refusals(self):
        with self.assertRaisesRegex(ep.InvalidArgument, "must be 'mean', 'gcn' or 'pool', not 'lstm'"):
            ep.nn.SAGEConv(IN, OUT, "lstm")
        layer = ep.nn.SAGEConv(IN, OUT, "mean")
        with self.assertRaisesRegex(ep.InvalidArgument, "9 sources and 5 .*, and the features are of 8 and 5"):
            layer(self.block, self.x[1:])
        with self.assertRaisesRegex(ep.InvalidArgument, r"there are 14 edges, and weights of shape \[3\]"):
            layer(self.block, self.x, torch.ones(3))


class Graph(LayerTest):
    def expected(self, norm, self_loops=False, edge_weight=None):
        sources, rows = ref.ends(self.block, self_loops=self_loops)
        out = torch.bincount(sources, minlength=self.num_src).clamp(min=1).double()[:, None]
        inward = torch.bincount(rows, minlength=self.num_dst).clamp(min=1).double()[:, None]

        def formula(layer, x, *weights):
            x = x @ layer.fc.weight.t()
            if norm in ("both", "left"):
                x = x / (out.sqrt() if norm == "both" else out)
            messages = x[sources] if not weights else x[sources] * weights[0][:, None]
            y = ref.sums(messages, rows, self.num_dst)
            if norm in ("both", "right"):
                y = y / (inward.sqrt() if norm == "both" else inward)
            return y + layer.bias

        return formula

    def test_norms_in_both_orders_of_products(self):
        for norm in ("both", "left", "right", "none"):
            for out in (IN - 2, IN + 2):
                for self_loops in (False, True):
                    with self.subTest((norm, out, self_loops)):
                        layer = ep.nn.GraphConv(IN, out, norm, allow_zero_in_degree=True, self_loops=self_loops)
                        self.check(layer, lambda layer, x: layer(self.block, x), self.expected(norm, self_loops),
                                   self.x)

    def test_edge_weights(self):
        weights = torch.rand(len(self.rows)) + 0.5
        layer = ep.nn.GraphConv(IN, OUT, allow_zero_in_degree=True)
        self.check(layer, lambda layer, x, w: layer(self.block, x, edge_weight=w), self.expected("both"), self.x,
                   weights)

    def test_degrees_of_the_whole_graph(self):
        rng = np.random.default_rng(1)
        out, inward = rng.integers(5, 9, self.num_src), rng.integers(20, 30, self.num_dst)
        sources, rows = self.sources, self.rows
        drawn = torch.bincount(rows, minlength=self.num_dst)

        def formula(layer, x):
            x = x @ layer.fc.weight.t()
            own = torch.from_numpy(inward).double() + 1
            share = torch.where(drawn > 0, drawn / torch.from_numpy(inward), 1).double()
            scale = 1 / (torch.from_numpy(out).double() + 1).sqrt()[:, None]
            y = ref.sums((scale * x)[sources], rows, self.num_dst) / share[:, None] + (scale * x)[:self.num_dst]
            return y / own.sqrt()[:, None] + layer.bias

        self.check(ep.nn.GraphConv(IN, OUT, self_loops=True),
                   lambda layer, x: layer(self.block, x, degrees=(out, inward)), formula, self.x)

    def test_weights_that_are_passed(self):
        layer = ep.nn.GraphConv(IN, OUT, "none", weight=False, bias=False, allow_zero_in_degree=True)
        weight = torch.randn(IN, OUT)
        self.check(layer, lambda _, x, w: layer(self.block, x, weight=w),
                   lambda _, x, w: self.sum((x @ w)[self.sources]), self.x, weight)

    def test_refusals(self):
        with self.assertRaisesRegex(ep.InvalidArgument, "norm must be"):
            ep.nn.GraphConv(IN, OUT, "all")
        with self.assertRaisesRegex(ep.InvalidArgument, "a destination of the block has no in-edges"):
            ep.nn.GraphConv(IN, OUT)(self.block, self.x)
        layer = ep.nn.GraphConv(IN, OUT, self_loops=True)
        with self.assertRaisesRegex(ep.InvalidArgument, "and degrees of 2 and 3"):
            layer(self.block, self.x, degrees=([1, 2], [1, 2, 3]))
        with self.assertRaisesRegex(ep.InvalidArgument, "a weight of its own"):
            layer(self.block, self.x, weight=torch.ones(IN, OUT))


class Attention(LayerTest):
    def attend(self, scores, values, self_loops, edge_weight=None):
        sources, rows = ref.ends(self.block, self_loops=self_loops)
        weights = ref.softmax(scores, rows, self.num_dst)
        if edge_weight is not None:
            weights = weights * edge_weight[:, None]
        return ref.sums(weights.unsqueeze(2) * values[sources], rows, self.num_dst), weights

    def gat(self, self_loops, residual=False, destination=None):
        sources, rows = ref.ends(self.block, self_loops=self_loops)

        def formula(layer, x, *more):
            fc_src, fc_dst = (layer.fc, layer.fc) if destination is None else (layer.fc_src, layer.fc_dst)
            own = x[:self.num_dst] if destination is None else more[0]
            values, of_own = fc_src(x).view(-1, HEADS, OUT), fc_dst(own).view(-1, HEADS, OUT)
            ends = (values * layer.attn_src).sum(2)[sources], (of_own * layer.attn_dst).sum(2)[rows]
            weights = more[0] if more and destination is None else None
            found, _ = self.attend(tf.leaky_relu(ends[0] + ends[1], 0.2), values, self_loops, weights)
            if residual:
                return found + layer.res_fc(own).view(-1, HEADS, OUT)
            return found + layer.bias.view(HEADS, OUT)

        return formula

    def test_gat(self):
        for self_loops in (False, True):
            layer = ep.nn.GATConv(IN, OUT, HEADS, allow_zero_in_degree=True, self_loops=self_loops)
            self.check(layer, lambda layer, x: layer(self.block, x), self.gat(self_loops), self.x)

    def test_gat_of_pairs_with_weights_and_residuals(self):
        layer = ep.nn.GATConv((IN, 2), OUT, HEADS, allow_zero_in_degree=True)
        self.check(layer, lambda layer, x, y: layer(self.block, (x, y)), self.gat(False, destination=True), self.x,
                   torch.randn(self.num_dst, 2))
        layer = ep.nn.GATConv(IN, OUT, HEADS, allow_zero_in_degree=True, residual=True)
        self.check(layer, lambda layer, x: layer(self.block, x), self.gat(False, residual=True), self.x)
        layer = ep.nn.GATConv(IN, OUT, HEADS, allow_zero_in_degree=True)
        self.check(layer, lambda layer, x, w: layer(self.block, x, edge_weight=w), self.gat(False), self.x,
                   torch.rand(len(self.rows)) + 0.5)

    def test_gatv2(self):
        for self_loops in (False, True):
            sources, rows = ref.ends(self.block, self_loops=self_loops)

            def formula(layer, x):
                values = layer.fc_src(x).view(-1, HEADS, OUT)
                own = layer.fc_dst(x[:self.num_dst]).view(-1, HEADS, OUT)
                scores = (tf.leaky_relu(values[sources] + own[rows], 0.2) * layer.attn).sum(2)
                return self.attend(scores, values, self_loops)[0]

            for shared in (False, True):
                layer = ep.nn.GATv2Conv(IN, OUT, HEADS, allow_zero_in_degree=True, self_loops=self_loops,
                                        share_weights=shared)
                self.check(layer, lambda layer, x: layer(self.block, x), formula, self.x)

    def test_attention_adds_up_to_one(self):
        layer = ep.nn.GATv2Conv(IN, OUT, HEADS, self_loops=True)
        rows, attention = layer(self.block, self.x, get_attention=True)
        self.assertEqual((rows.shape, attention.shape), ((5, HEADS, OUT), (14 + 5, HEADS, 1)))
        totals = ref.sums(attention, ref.ends(self.block, self_loops=True)[1], self.num_dst)
        torch.testing.assert_close(totals, torch.ones_like(totals))

    def test_refusals(self):
        with self.assertRaisesRegex(ep.InvalidArgument, "a destination of the block has no in-edges"):
            ep.nn.GATConv(IN, OUT, HEADS)(self.block, self.x)
        with self.assertRaisesRegex(ep.InvalidArgument, "self_loops needs sources"):
            ep.nn.GATConv(IN, OUT, HEADS, self_loops=True)(self.block, (self.x, self.x[:5]))
        with self.assertRaisesRegex(ep.InvalidArgument, "of one width"):
            ep.nn.GATv2Conv((IN, 2), OUT, HEADS, share_weights=True)


class DropoutOfSteps(unittest.TestCase):
    class Batch:
        epoch, step, blocks = 3, 5, []
        _host_inputs = staticmethod(lambda: {"node": np.arange(20)})
        _like_nodes = staticmethod(lambda array: array)

    class Graph:
        ntypes = ["node"]
        _schema = ref.random_block()._schema

        def __init__(self, ids):
            self.ids = np.asarray(ids, np.int64)

        def to_original_ids(self, nodes, ntype=None):
            return self.ids[nodes]

    def test_masks_follow_ids_seed_epoch_step_and_layer(self):
        ids = np.arange(100, 120)
        keys = ep.nn.StepKeys(self.Graph(ids), self.Batch, seed=1)
        ones = torch.ones(12, 40)
        dropped = ep.nn.Dropout(0.5, layer=0)(ones, keys)
        self.assertEqual(set(dropped.unique().tolist()), {0, 2})
        moved = ep.nn.StepKeys(self.Graph(ids[::-1]), self.Batch, seed=1)
        self.assertTrue(torch.equal(ep.nn.Dropout(0.5, layer=0)(torch.ones(20, 40), moved).flip(0)[:12], dropped))
        others = [ep.nn.Dropout(0.5, layer=1)(ones, keys), ep.nn.Dropout(0.5)(ones, keys),
                  ep.nn.Dropout(0.5, layer=0)(ones, ep.nn.StepKeys(self.Graph(ids), self.Batch, seed=2))]
        for other in others:
            self.assertFalse(torch.equal(other, dropped))

    def test_only_while_training(self):
        layer = ep.nn.Dropout(0.5, layer=0)
        ones = torch.ones(3, 4)
        with self.assertRaisesRegex(ep.InvalidArgument, "needs StepKeys"):
            layer(ones)
        self.assertIs(layer.eval()(ones), ones)
        with self.assertRaisesRegex(ep.InvalidArgument, "from 0 to below 1, not 1"):
            ep.nn.Dropout(1)


if __name__ == "__main__":
    unittest.main()
