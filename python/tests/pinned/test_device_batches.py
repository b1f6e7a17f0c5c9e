"""Tests loaders with a device: batches as tensors, and copies that start one batch ahead. No test runs on a GPU; copies
to the CPU replace those to a GPU."""

import contextlib
import unittest
from unittest import mock

import numpy as np
import torch

import espalier as ep
import espalier.nn
import graphs
from espalier import device_batches, torch_arrays


def setUpModule():
    global g
    folder = graphs.make_folder()
    g = ep.DistGraph(graphs.partition(graphs.CORA, "OGB", 2, folder / "cora", "--normalize-features"))


def node_loader(**options):
    sampler = ep.NeighborSampler([4, 3], prefetch_node_feats="node-feat", prefetch_labels="node-label")
    return ep.DistNodeDataLoader(g, ep.NodesOfSplit("public", "train"), sampler, batch_size=30, seed=1, **options)


class Copies:
    """Records started and finished copies. `begin_fails`: the batch whose copy fails to start."""

    def __init__(self, begin_fails=None):
        self.events, self.begin_fails = [], begin_fails

    def start(self, batch):
        if batch == self.begin_fails:
            raise ep.Unavailable(f"no copy of {batch}")
        self.events.append(f"start {batch}")
        return batch

    def finish(self, started):
        self.events.append(f"finish {started}")
        return started


class CopiesToTheProcessor:
    """Replaces _CudaCopies."""

    def __init__(self, device):
        assert device.type == "cuda"

    def start(self, batch):
        return batch.to("cpu")

    def finish(self, started):
        return started


class CopiedAhead(unittest.TestCase):
    def test_a_copy_begins_before_the_batch_before_it_is_used(self):
        copies = Copies()
        for batch in device_batches.copied_ahead(range(3), copies):
            copies.events.append(f"use {batch}")
        self.assertEqual(copies.events, ["start 0", "start 1", "finish 0", "use 0", "start 2", "finish 1", "use 1",
                                         "finish 2", "use 2"])
        self.assertEqual(list(device_batches.copied_ahead([], copies)), [])

    def test_an_error_waits_for_its_turn(self):
        def batches():
            yield from (0, 1)
            raise ep.DeadlineExceeded("too late")

        for source, copies, error in ((batches(), Copies(), "too late"), (range(5), Copies(2), "no copy of 2")):
            found = []
            with self.assertRaisesRegex(ep.EspalierError, error):
                for batch in device_batches.copied_ahead(source, copies):
                    found.append(batch)
            self.assertEqual(found, [0, 1])


class CudaCopies(unittest.TestCase):
    """Tests the calls to torch's streams, which are recorded because CPU tensors have no streams."""

    def test_the_callers_stream_waits_for_the_copy_and_keeps_its_memory(self):
        calls, recorded = [], []
        copying, current = mock.Mock(name="copying"), mock.Mock(name="current")
        copying.record_event.side_effect = lambda: calls.append("record") or "event"
        current.wait_event.side_effect = lambda event: calls.append(f"wait for {event}")

        @contextlib.contextmanager
        def on_stream(stream):
            self.assertIs(stream, copying)
            calls.append("enter")
            yield
            calls.append("leave")

        def record(tensor, stream):
            self.assertIs(stream, current)
            recorded.append(tensor.untyped_storage().data_ptr())

        patches = {"Stream": lambda device: copying, "stream": on_stream, "current_stream": lambda device: current}
        for name, fake in patches.items():
            self.enterContext(mock.patch.object(torch.cuda, name, fake))
        self.enterContext(mock.patch.object(torch.Tensor, "record_stream", record))
        # Pinned memory requires a GPU. One copy replaces it, and another one replaces the copy on the GPU.
        self.enterContext(mock.patch.object(torch_arrays, "pin", lambda array: torch_arrays.to_tensor(array).clone()))
        batch = next(iter(node_loader()))
        copies = device_batches._CudaCopies(torch.device("cpu", 0))
        started = copies.start(batch)
        self.assertEqual((calls, recorded), (["enter", "leave", "record"], []))
        moved = copies.finish(started)
        self.assertEqual(calls[3:], ["wait for event"])
        tensors = [moved.input_nodes, moved.output_nodes, moved.blocks[0].srcdata["node-feat"],
                   moved.blocks[-1].dstdata["node-label"]]
        for block in moved.blocks:
            tensors += [*block.csc(), block.srcdata[ep.NID], block.dstdata[ep.NID]]
        missing = {tensor.untyped_storage().data_ptr() for tensor in tensors} - set(recorded)
        self.assertEqual(missing, set())


class Loaders(unittest.TestCase):
    def check_equal(self, batch, expected):
        self.assertEqual((batch.epoch, batch.step), (expected.epoch, expected.step))
        self.assertEqual(batch.num_seeds, expected.num_seeds)
        pairs = [(batch.input_nodes, expected.input_nodes), (batch.output_nodes, expected.output_nodes),
                 (batch.blocks[0].srcdata["node-feat"], expected.blocks[0].srcdata["node-feat"]),
                 (batch.blocks[-1].dstdata["node-label"], expected.blocks[-1].dstdata["node-label"])]
        for block, other in zip(batch.blocks, expected.blocks):
            pairs += zip(block.csc(), other.csc())
        for tensor, array in pairs:
            self.assertIsInstance(tensor, torch.Tensor)
            np.testing.assert_array_equal(tensor.numpy(), array)

    def ahead(self):
        return mock.patch.object(device_batches, "_CudaCopies", CopiesToTheProcessor)

    def test_batches_are_tensors_and_the_same(self):
        for device in ("cpu", torch.device("cpu"), "cuda"):
            with self.subTest(device), self.ahead():
                batches = list(node_loader(device=device))
                self.assertEqual(len(batches), 5)
                for batch, expected in zip(batches, node_loader()):
                    self.check_equal(batch, expected)

    def test_batches_of_edges(self):
        edges, sampler = np.arange(40), ep.NeighborSampler([3])
        options = {"batch_size": 16, "seed": 2, "negative_sampler": ep.negative_sampler.Uniform(2)}
        with self.ahead():
            found = list(ep.DistEdgeDataLoader(g, edges, sampler, device="cuda", **options))
        for batch, expected in zip(found, ep.DistEdgeDataLoader(g, edges, sampler, **options), strict=True):
            np.testing.assert_array_equal(batch.links.sources.numpy(), expected.links.sources)
            for one, other in zip(batch.links.negatives(), expected.links.negatives()):
                np.testing.assert_array_equal(one.numpy(), other)

    def test_the_position_is_that_of_the_batches_that_were_used(self):
        loader = node_loader(device="cuda")
        with self.ahead():
            for batch in loader:
                self.assertEqual(loader.state_dict()["step"], batch.step + 1)
                if batch.step == 1:
                    break
            state = loader.state_dict()
            self.assertEqual((state["epoch"], state["step"]), (0, 2))
            resumed = node_loader(device="cuda")
            resumed.load_state_dict(state)
            self.assertEqual([(batch.epoch, batch.step) for batch in resumed], [(0, 2), (0, 3), (0, 4)])
            self.assertEqual(resumed.state_dict()["epoch"], 1)
            self.assertEqual([(batch.epoch, batch.step) for batch in loader][0], (1, 0))

    def test_one_iteration_at_a_time(self):
        loader = node_loader(device="cuda")
        with self.ahead():
            first = iter(loader)
            next(first)
            iter(loader)
            with self.assertRaisesRegex(ep.FailedPrecondition, "a newer iteration of this loader has begun"):
                next(first)

    def test_an_iteration_that_ends_late_leaves_the_newer_one_alone(self):
        loader = node_loader(device="cuda")
        with self.ahead():
            first = iter(loader)
            for _ in range(len(loader)):
                next(first)
            second = iter(loader)
            self.assertEqual((next(second).epoch, loader.state_dict()["epoch"]), (1, 1))
            with self.assertRaisesRegex(ep.FailedPrecondition, "a newer iteration of this loader has begun"):
                next(first)
            self.assertEqual((loader.state_dict()["epoch"], loader.state_dict()["step"]), (1, 1))
            self.assertEqual([(batch.epoch, batch.step) for batch in second], [(1, step) for step in range(1, 5)])

    def test_masks_and_degrees_of_a_moved_batch(self):
        with_ids = ep.NeighborSampler([4, 3], prefetch_node_feats=["node-feat", "original_id"])
        for sampler in (with_ids, ep.NeighborSampler([4, 3], prefetch_node_feats="node-feat")):
            loader = ep.DistNodeDataLoader(g, ep.NodesOfSplit("public", "train"), sampler, batch_size=30, seed=1)
            batch = next(iter(loader))
            moved = batch.to("cpu")
            expected = ep.nn.StepKeys(g, batch, seed=1).ids()
            found = ep.nn.StepKeys(g, moved, seed=1).ids()
            self.assertIsInstance(found, torch.Tensor)
            np.testing.assert_array_equal(found.numpy(), expected)
            for one, other in zip(ep.nn.models.degrees_of(g, moved)[0], ep.nn.models.degrees_of(g, batch)[0]):
                np.testing.assert_array_equal(one, other)

    def test_ids_of_tensors(self):
        rows = g.ndata["node-label"][torch.tensor([3, 1])]
        np.testing.assert_array_equal(rows, g.ndata["node-label"][[3, 1]])


if __name__ == "__main__":
    unittest.main()
