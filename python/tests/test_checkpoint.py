"""Tests checkpoints and their errors in one process; test_recovery tests several ranks that are killed."""

import os
import pathlib
import random
import tempfile
import threading
import unittest
from unittest import mock

import numpy as np

import espalier as ep
import graphs


def setUpModule():
    global g, group
    g = graphs.open_cora(graphs.make_folder())[1][2]
    group = ep.init_process_group(g)


class Checkpoints(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.uri = pathlib.Path(folder.name) / "checkpoints"

    def loader(self, **options):
        return ep.DistNodeDataLoader(g, ep.NodesOfSplit("public"), ep.NeighborSampler([5]),
                                     **dict({"batch_size": 20, "seed": 3}, **options))

    def test_the_state_round_trips(self):
        class Model:
            def __init__(self, weights):
                self.weights = weights

            def state_dict(self):
                return {"layers": [{"weight": self.weights, "scale": np.float32(2)}], 3: (None, True, "text")}

            def load_state_dict(self, state):
                self.loaded = state

        loader = self.loader()
        batches = iter(loader)
        for _ in range(3):
            next(batches)
        np.random.seed(1)
        random.seed(1)
        np.random.rand(5)
        big = np.arange(100_000, dtype=np.float64).reshape(1000, 100)  # larger than one row of the tensor of bytes
        ep.checkpoint.save(g, group, self.uri, loader=loader, model=Model(big), state={"best": 0.5, "empty": big[:0]})
        expected = [np.random.rand(), random.random()], [batch.input_nodes.tolist() for batch in batches]

        checkpoint = ep.checkpoint.resume(g, group, self.uri)
        model, again = Model(None), self.loader()
        checkpoint.restore(loader=again, model=model)
        self.assertEqual([np.random.rand(), random.random()], expected[0])
        self.assertEqual([batch.input_nodes.tolist() for batch in again], expected[1])
        layer, = model.loaded["layers"]
        np.testing.assert_array_equal(layer["weight"], big)
        self.assertEqual((layer["scale"], model.loaded[3]), (2.0, (None, True, "text")))
        self.assertEqual(checkpoint.state["best"], 0.5)
        self.assertEqual(checkpoint.state["empty"].shape, (0, 100))
        with self.assertRaisesRegex(ep.InvalidArgument, "without its optimizer"):
            checkpoint.restore(optimizer=model)
        with self.assertRaisesRegex(ep.InvalidArgument, "batch_size 20, not 10"):
            checkpoint.restore(loader=self.loader(batch_size=10))

    def test_a_loader_of_no_batches_has_a_position_too(self):
        empty = {"batch_size": 1000, "drop_last": True}
        loader = self.loader(**empty)
        self.assertEqual((len(loader), list(loader)), (0, []))
        ep.checkpoint.save(g, group, self.uri, loader=loader)
        again = self.loader(**empty)
        ep.checkpoint.resume(g, group, self.uri).restore(loader=again)
        self.assertEqual(again.state_dict()["epoch"], 1)

    def test_the_newest_are_kept_and_other_files_remain(self):
        ep.save_tensors(g, self.uri / "mine", notes={"of": "the program"})
        for number in range(4):
            ep.checkpoint.save(g, group, self.uri, state={"number": number}, keep=2)
        self.assertEqual(ep.list_saved_tensors(self.uri),
                         ["checkpoint-000000000003", "checkpoint-000000000004", "mine"])
        self.assertEqual(ep.checkpoint.resume(g, group, self.uri).state, {"number": 3})

    def test_a_new_job_never_resumes_an_older_run(self):
        ep.checkpoint.save(g, group, self.uri, state={"run": "old"})
        with mock.patch.dict(os.environ, ESPALIER_RESUME="never"):
            self.assertIsNone(ep.checkpoint.resume(g, group, self.uri))
            ep.checkpoint.save(g, group, self.uri, state={"run": "new"})
            self.assertEqual(ep.checkpoint.resume(g, group, self.uri).state, {"run": "new"})  # its own, for a restart
            ep.remove_saved_tensors(self.uri / "checkpoint-000000000001")
        with mock.patch.dict(os.environ, ESPALIER_RESUME="auto"):  # as after a kill before the first save
            self.assertIsNone(ep.checkpoint.resume(g, group, self.uri))

    def test_unsupported_values_are_named(self):
        for value, message in (({1, 2}, "not set"), (np.array([object()]), "object"),
                               (np.zeros(2, [("a", int)]), r"\[\('a'")):
            with self.subTest(value=value), self.assertRaisesRegex(ep.InvalidArgument, message):
                ep.checkpoint.save(g, group, self.uri, state={"value": value})
        self.uri.parent.joinpath("file").write_text("")
        with self.assertRaises(ep.EspalierError):
            ep.checkpoint.save(g, group, self.uri.parent / "file" / "below", state={})
        ep.checkpoint.save(g, group, self.uri, state={"usable": "still"})

    def test_one_call_at_a_time(self):
        """While a call of a group is pending, a second one from another thread or a signal handler is rejected."""
        entered, leave = threading.Event(), threading.Event()

        def hold():
            with group._calls:
                entered.set()
                leave.wait(60)

        thread = threading.Thread(target=hold)
        thread.start()
        entered.wait(60)
        with self.assertRaisesRegex(ep.FailedPrecondition, "a call of this process group is pending"):
            group.barrier()
        leave.set()
        thread.join()
        group.barrier()


if __name__ == "__main__":
    unittest.main()
