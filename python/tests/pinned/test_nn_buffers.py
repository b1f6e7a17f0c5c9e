"""Tests tensors in reused memory: two tensors never share it, and results are bitwise those in torch's own memory."""

import gc
import unittest

import torch

import espalier as ep
import espalier.nn
import references as ref
from espalier import _core
from espalier.nn.buffers import uninitialized
from espalier.nn.model_layers import WrittenRows

MIB = 1 << 20
LIMIT = 1024 * MIB  # the default


class Buffers(unittest.TestCase):
    def setUp(self):
        self.addCleanup(ep.nn.set_buffer_limit, LIMIT)
        gc.collect()
        ep.nn.set_buffer_limit(0)
        ep.nn.set_buffer_limit(LIMIT)

    def test_large_tensors_reuse_memory(self):
        like = torch.zeros(1)
        first = uninitialized(like, (1024, 1024))
        address, rows = first.data_ptr(), first[1000:]
        del first
        self.assertNotEqual(uninitialized(like, (1024, 1024)).data_ptr(), address)  # rows still uses the memory
        del rows
        found = {uninitialized(like, (1024, 1024), torch.int32).data_ptr() for _ in range(3)}
        self.assertLessEqual(len(found), 2)
        self.assertEqual(_core.idle_buffer_bytes(), 2 * 4 * MIB)

    def test_small_tensors_and_other_dtypes_use_torch(self):
        for like, shape in ((torch.zeros(1), (10, 10)), (torch.zeros(1, dtype=torch.float64), (1024, 1024)),
                            (torch.zeros(1, device="meta"), (1024, 1024))):
            made = uninitialized(like, shape)
            self.assertEqual((made.shape, made.dtype, made.device), (shape, like.dtype, like.device))
            del made
        self.assertEqual(_core.idle_buffer_bytes(), 0)

    def test_the_limit_is_checked(self):
        for limit in (-1, 0.5):
            with self.subTest(limit), self.assertRaisesRegex(ep.InvalidArgument, "num_bytes must be"):
                ep.nn.set_buffer_limit(limit)

    def test_rows_of_one_type_are_not_copied(self):
        written, x = WrittenRows(ref.random_block(), [0]), torch.randn(5, 3)
        self.assertIs(written.split(x)["node"], x)

    def test_steps_have_the_same_bits_with_and_without_reuse(self):
        block = ref.random_block(20000, 8000, 60000)

        def trained():
            torch.manual_seed(2)
            layer, x = ep.nn.SAGEConv(64, 64, "mean", activation=torch.relu), torch.randn(20000, 64, requires_grad=True)
            optimizer = torch.optim.SGD([*layer.parameters(), x], lr=0.1)
            for _ in range(4):
                optimizer.zero_grad()
                layer(block, x).square().mean().backward()
                optimizer.step()
            return [x.detach(), *(parameter.detach() for parameter in layer.parameters())]

        ep.nn.set_buffer_limit(0)
        fresh = trained()
        self.assertEqual(_core.idle_buffer_bytes(), 0)
        ep.nn.set_buffer_limit(LIMIT)
        again = trained()
        self.assertGreater(_core.idle_buffer_bytes(), 4 * MIB)
        for one, other in zip(fresh, again):
            self.assertTrue(torch.equal(one, other))


if __name__ == "__main__":
    unittest.main()
