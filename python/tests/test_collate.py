"""Tests DistDataLoader, which makes batches of any items."""

import unittest

import numpy as np

import espalier as ep


class DistDataLoader(unittest.TestCase):
    def test_rows_of_an_array_in_order(self):
        loader = ep.DistDataLoader(np.arange(10, 17), 3)
        self.assertEqual(len(loader), 3)
        batches = list(loader)
        self.assertEqual([batch.tolist() for batch in batches], [[10, 11, 12], [13, 14, 15], [16]])
        self.assertIsInstance(batches[0], np.ndarray)
        self.assertEqual([batch.tolist() for batch in ep.DistDataLoader(np.arange(7), 3, drop_last=True)],
                         [[0, 1, 2], [3, 4, 5]])
        self.assertEqual(list(ep.DistDataLoader([], 3)), [])

    def test_items_of_a_sequence_and_collate_fn(self):
        loader = ep.DistDataLoader(["a", "b", "c"], 2, collate_fn="".join)
        self.assertEqual(list(loader), ["ab", "c"])

    def test_epochs_are_shuffled_by_the_seed(self):
        def epochs(seed, count=2):
            loader = ep.DistDataLoader(np.arange(100), 8, shuffle=True, seed=seed)
            return [np.concatenate(list(loader)).tolist() for _ in range(count)]

        first, second = epochs(1)
        self.assertEqual(sorted(first), list(range(100)))
        self.assertNotEqual(first, second)
        self.assertEqual([first, second], epochs(1))
        self.assertNotEqual(first, epochs(2)[0])

    def test_a_loader_resumes(self):
        def make(**options):
            return ep.DistDataLoader(np.arange(20), 3, shuffle=True, **{"seed": 4, **options})

        whole, left = make(), make()
        expected = [batch.tolist() for _ in range(3) for batch in whole]
        taken = [batch.tolist() for batch in left]
        for batch in left:
            taken.append(batch.tolist())
            if len(taken) == 10:
                break
        resumed = make()
        resumed.load_state_dict(left.state_dict())
        taken += [batch.tolist() for _ in range(2) for batch in resumed]
        self.assertEqual(taken, expected)
        with self.assertRaisesRegex(ep.InvalidArgument, "seed 4, not 5"):
            make(seed=5).load_state_dict(left.state_dict())
        with self.assertRaises(ep.InvalidArgument):
            left.load_state_dict({"epoch": 0, "step": 8})

    def test_an_abandoned_loop_is_followed_by_the_next_epoch(self):
        loader = ep.DistDataLoader(np.arange(20), 3, shuffle=True)
        next(iter(loader))
        second = [batch.tolist() for batch in loader]
        expected = ep.DistDataLoader(np.arange(20), 3, shuffle=True)
        expected.set_epoch(1)
        self.assertEqual(second, [batch.tolist() for batch in expected])


if __name__ == "__main__":
    unittest.main()
