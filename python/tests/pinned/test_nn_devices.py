"""Tests espalier.nn with torch's operations, as on GPUs, but on the CPU. Repeats the tests of the layers and of their
functions, and compares dropout bits, values and losses with those of the library's kernels.

No test runs on a GPU."""

import unittest
from unittest import mock

import numpy as np
import torch

import espalier as ep
import espalier.nn
import references as ref
import test_nn
import test_nn_functional
import test_nn_models
import test_nn_typed
from espalier.dgl import _blocks as dgl_blocks
from espalier.nn import device_kernels
from espalier.nn import functional as F


def setUpModule():
    test_nn_models.setUpModule()


def as_on_a_device():
    """Makes layers use the operations for devices other than the CPU with every tensor."""
    return mock.patch.object(F, "_kernels", lambda device: device_kernels)


class OnDevice:
    def setUp(self):
        self.enterContext(as_on_a_device())
        super().setUp()


class Operations(OnDevice, test_nn_functional.Operations):
    test_refusals = None  # only the kernels reject these arguments


class Sage(OnDevice, test_nn.Sage):
    pass


class Graph(OnDevice, test_nn.Graph):
    pass


class Attention(OnDevice, test_nn.Attention):
    pass


class DropoutOfSteps(OnDevice, test_nn.DropoutOfSteps):
    pass


class RelGraph(OnDevice, test_nn_typed.RelGraph):
    pass


class Hgt(OnDevice, test_nn_typed.Hgt):
    pass


class Hetero(OnDevice, test_nn_typed.Hetero):
    pass


class AgainstTheKernels(unittest.TestCase):
    def both(self, compute):
        """Returns the results of compute() with the kernels and with torch's operations."""
        found = compute()
        with as_on_a_device():
            return found, compute()

    def test_masks_of_rows_are_equal(self):
        ids = torch.tensor([0, 1, 2**31, 2**32 + 5, 2**40, 2**62 + 3, 7, 8])
        masks = [(2**64 - 1, ids[:5]), (0x123456789ABCDEF0, ids[5:].numpy())]
        for width in (1, 7, 8, 40, 65):
            for probability in (2.0**-20, 0.1, 0.5, 0.99999):
                one, other = self.both(lambda: F.drop_elements(torch.ones(8, width), probability, masks))
                self.assertTrue(torch.equal(one, other), (width, probability))

    def test_masks_of_edges_are_equal(self):
        block = ref.random_block()
        ids = torch.arange(9) * 2**33 + 1
        for heads in (1, 3, 8, 20):
            def drop():
                edges = F.Edges.of_block(block, self_loops=True)
                return F.drop_edges(edges, torch.ones(edges.num_edges, heads), 0.3, 2**63 + 11, ids, ids[:5])

            one, other = self.both(drop)
            self.assertTrue(torch.equal(one, other), heads)

    def test_activation_passes_the_same_elements(self):
        x, bias = torch.randn(8, 20, generator=torch.Generator().manual_seed(1)), torch.linspace(-1, 1, 20)
        x[0, 0] = torch.nan
        masks = [(5, torch.arange(8))]

        def activate():
            leaf = x.clone().requires_grad_()
            rows = F.bias_relu_dropout_(leaf * 1, bias, 0.4, masks)
            rows.nan_to_num().sum().backward()
            return rows.detach(), leaf.grad

        for one, other in zip(*self.both(activate)):
            torch.testing.assert_close(one, other, rtol=0, atol=0, equal_nan=True)

    def test_a_block_without_edges(self):
        def compute():
            edges = F.Edges(np.zeros(4, np.int32), np.zeros(0, np.int32), 5)
            x = torch.ones(5, 6, requires_grad=True)
            parts = [F.segment_sum(edges, x), F.segment_mean(edges, x), F.segment_max(edges, x),
                     F.self_and_mean(edges, x), F.weighted_sum(edges, F.edge_softmax(edges, torch.zeros(0, 2)), x)]
            torch.cat(parts, 1).sum().backward()
            return [*parts, x.grad]

        for one, other in zip(*self.both(compute)):
            self.assertTrue(torch.equal(one, other))

    def test_the_largest_of_ties_and_nan(self):
        values = torch.tensor([[1.0, 2], [1, 2], [0, torch.nan], [-torch.inf, 2]])

        def compute():
            edges = F.Edges(np.array([0, 0, 4], np.int32), np.array([3, 1, 0, 2], np.int32), 4)
            x = values.clone().requires_grad_()
            largest = F.segment_max(edges, x)
            (largest * torch.tensor([3.0, 5])).sum().backward()
            return largest.detach(), x.grad

        for one, other in zip(*self.both(compute)):
            torch.testing.assert_close(one, other, rtol=0, atol=0, equal_nan=True)

    def test_models_train_by_the_same_losses(self):
        sampler = ep.NeighborSampler([4, 3], prefetch_node_feats="node-feat", prefetch_labels="node-label")
        loader = ep.DistNodeDataLoader(test_nn_models.cora, ep.NodesOfSplit("public", "train"), sampler, batch_size=64,
                                       seed=1)
        common = {"hiddenSize": 16, "dropout": 0.5}
        for settings in ({"type": "GraphSAGE", "normalization": "Batch"}, {"type": "GCN"}, {"type": "RGCN"},
                         {"type": "GAT", "heads": 4, "attentionDropout": 0.3}, {"type": "GATv2", "heads": 2}):
            with self.subTest(settings["type"]):
                def train():
                    loader.set_epoch(0)
                    model = test_nn_models.make_model(test_nn_models.cora, {**settings, **common}, 1433, 7)
                    return test_nn_models.train(test_nn_models.cora, model, loader, epochs=1)

                one, other = self.both(train)
                np.testing.assert_allclose(one, other, rtol=1e-4)
                self.assertEqual(len(set(one)), 3)


class Devices(unittest.TestCase):
    def test_edges_are_where_the_block_is(self):
        edges = F.Edges.of_block(ref.random_block())
        self.assertEqual(edges.device, torch.device("cpu"))
        moved = dgl_blocks.Block(ref.random_block(), "meta")  # its csc() returns arrays
        self.assertEqual(F.Edges.of_block(moved, self_loops=True).device, torch.device("meta"))
        far = torch.zeros(9, 4, device="meta")
        words = "the edges are on cpu and a tensor is on meta: move the batch with batch.to"
        for call in (lambda: F.segment_sum(edges, far), lambda: F.segment_max(edges, far),
                     lambda: F.edge_softmax(edges, torch.zeros(14, 2, device="meta")),
                     lambda: ep.nn.SAGEConv(4, 2, "mean")(ref.random_block(), far)):
            with self.assertRaisesRegex(ep.InvalidArgument, words):
                call()


if __name__ == "__main__":
    unittest.main()
