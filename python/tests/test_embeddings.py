"""Tests learnable rows and saved tensors in one process; test_recovery tests them in several."""

import pathlib
import tempfile
import unittest

import numpy as np

import espalier as ep
import graphs


def setUpModule():
    global of_partitions
    _, of_partitions = graphs.open_cora(graphs.make_folder())


class Embeddings(unittest.TestCase):
    def setUp(self):
        self.g = of_partitions[2]
        self.group = ep.init_process_group(self.g)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def embedding(self, g=None, optimizer=ep.optim.SparseSGD, lr=0.5, name="emb", dim=3, **options):
        emb = ep.DistEmbedding(g or self.g, self.group, dim, name=name, **options)
        optimizer([emb], lr=lr)
        return emb

    def test_sgd_changes_only_rows_with_gradients(self):
        emb = self.embedding(init="constant", init_values=[2])
        np.testing.assert_array_equal(emb[[0, 5, 0]], np.full((3, 3), 2, np.float32))
        emb.step([5, 7, 5], [[1, 2, 3], [4, 5, 6], [1, 1, 1]], lr=0.5)
        self.assertEqual(emb.version, 1)
        np.testing.assert_array_equal(emb[[5, 7, 6]], [[1, 0.5, 0], [0, -0.5, -1], [2, 2, 2]])

    def test_duplicates_are_averaged_on_request(self):
        emb = ep.DistEmbedding(self.g, self.group, 2, name="emb")
        ep.optim.SparseSGD([emb], lr=1, mean_of_duplicates=True)
        emb.step([3, 3], [[1, 4], [3, 0]], lr=1)
        np.testing.assert_array_equal(emb[[3]], [[-2, -2]])

    def test_adam_matches_the_paper(self):
        emb = self.embedding(optimizer=ep.optim.SparseAdam, init="normal", init_values=(0, 1), seed=4)
        weights, first, second = emb[[9]].astype(np.float64), 0.0, 0.0
        for step in range(1, 6):
            gradient = np.array([[0.5, -1.0, 2.0]]) * step
            first, second = 0.9 * first + 0.1 * gradient, 0.999 * second + 0.001 * gradient**2
            weights -= 0.01 * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
            emb.step([9], gradient, lr=0.01)
        np.testing.assert_allclose(emb[[9]], weights, rtol=1e-5)

    def test_first_values_of_a_function(self):
        calls = []

        def rows(first, count):
            calls.append((first, count))
            return np.arange(first, first + count)[:, None] * [1, 2]

        emb = self.embedding(optimizer=ep.optim.SparseAdagrad, dim=2, init=rows)
        np.testing.assert_array_equal(emb[[0, 2707, 5]], [[0, 0], [2707, 5414], [5, 10]])
        self.assertEqual(calls, [(0, 2708)])
        emb.step([5], [[3, -4]], lr=1)  # the optimizer's state is that of new rows
        np.testing.assert_allclose(emb[[5]], [[4, 11]], rtol=1e-6)

        def too_long(first, count):
            return np.zeros((count, 3))

        with self.assertRaisesRegex(ep.InvalidArgument, r"initial rows .*expected F32 \[2708, 2\]"):
            self.embedding(name="long", dim=2, init=too_long)[[0]]

        def fails(first, count):
            raise LookupError("no values")

        failing = self.embedding(name="failing", dim=2, init=fails)
        with self.assertRaisesRegex(LookupError, "no values"):
            failing[[0]]

    def test_first_values_do_not_depend_on_the_partitioning(self):
        ids = np.arange(0, 2708, 7)
        values = []
        for parts in (2, 3):
            g = of_partitions[parts]
            emb = self.embedding(g, init="uniform", init_values=(-1, 1), seed=2)
            values.append(emb[g.to_global_ids(ids)])
        np.testing.assert_array_equal(values[0], values[1])
        self.assertGreater(values[0].std(), 0.5)

    def test_a_saved_embedding_continues_with_its_state(self):
        gradients = np.random.default_rng(1).normal(size=(4, 6, 3)).astype(np.float32)
        rows = np.arange(10, 16)
        plain = self.embedding(optimizer=ep.optim.SparseAdagrad, name="plain")
        for gradient in gradients:
            plain.step(rows, gradient, lr=0.1)

        first = self.embedding(optimizer=ep.optim.SparseAdagrad)
        for gradient in gradients[:2]:
            first.step(rows, gradient, lr=0.1)
        ep.save_tensors(self.g, self.folder / "save", embeddings=[first], notes={"epoch": "2"})
        ids = self.g.to_original_ids(rows)
        other = of_partitions[3]  # of another partitioning
        again = self.embedding(other, optimizer=ep.optim.SparseAdagrad, resume_from=self.folder / "save")
        self.assertEqual(again.version, 2)
        for gradient in gradients[2:]:
            again.step(other.to_global_ids(ids), gradient, lr=0.1)
        np.testing.assert_array_equal(again[other.to_global_ids(ids)], plain[rows])

    def test_wrong_use_is_refused(self):
        emb = self.embedding()
        with self.assertRaisesRegex(ep.InvalidArgument, r"gradients of shape \(2, 2\)"):
            emb.step([1, 2], np.zeros((2, 2)), lr=1)
        with self.assertRaises(ep.InvalidArgument):
            emb.step([99999], np.zeros((1, 3)), lr=1)
        self.assertEqual(emb.version, 0)  # nothing was sent
        with self.assertRaisesRegex(ep.InvalidArgument, "optimizer"):
            ep.DistEmbedding(self.g, self.group, 3, name="none")[[0]]
        with self.assertRaisesRegex(ep.InvalidArgument, "num_rows, an ntype or an etype"):
            ep.DistEmbedding(self.g, self.group, 3, name="both", num_rows=3, ntype="node")
        with self.assertRaises(ep.NotFound):
            self.embedding(name="absent", resume_from=self.folder / "nothing")[[0]]


class SavedTensors(unittest.TestCase):
    def test_tensors_load_under_another_partitioning(self):
        g = of_partitions[2]
        ids = np.arange(2708)
        marks = ep.DistTensor.create(g, (2,), np.int32, "marks", ntype="node")
        marks[g.to_global_ids(ids)] = np.stack([ids, ids + 1], axis=1)
        own = ep.DistTensor.create(g, (4,), np.float64, "own")
        own[:] = [1, 2, 3, 4]
        with tempfile.TemporaryDirectory() as folder:
            ep.save_tensors(g, f"{folder}/1", [marks, own], notes={"epoch": "1"})
            with self.assertRaises(ep.AlreadyExists):
                ep.save_tensors(g, f"{folder}/1", [marks])
            self.assertEqual(ep.list_saved_tensors(folder), ["1"])
            other = of_partitions[3]
            tensors, notes = ep.load_tensors(other, f"{folder}/1")
            self.assertEqual(notes, {"epoch": "1"})
            np.testing.assert_array_equal(tensors["marks"][other.to_global_ids(ids)], np.stack([ids, ids + 1], axis=1))
            np.testing.assert_array_equal(tensors["own"][:], [1, 2, 3, 4])
            ep.remove_saved_tensors(f"{folder}/1")
            self.assertEqual(ep.list_saved_tensors(folder), [])
            with self.assertRaises(ep.NotFound):
                ep.load_tensors(other, f"{folder}/1")


if __name__ == "__main__":
    unittest.main()
