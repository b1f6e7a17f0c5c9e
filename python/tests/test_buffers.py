"""Memory for activations and gradients is reused only after its last array was freed, and kept only within a limit."""

import threading
import unittest

import numpy as np

import espalier as ep
from espalier import _core

MIB = 1 << 20
LIMIT = 1024 * MIB  # the default


class Buffers(unittest.TestCase):
    def setUp(self):
        self.addCleanup(_core.set_buffer_limit, LIMIT)
        _core.set_buffer_limit(0)  # frees memory that other tests have left
        _core.set_buffer_limit(LIMIT)

    def test_an_array_has_its_shape_and_dtype(self):
        for shape, dtype in (((3, 5), "float32"), ((7,), "uint8"), ((2, 3, 4), "int32"), ((0, 9), "float32")):
            array = _core.uninitialized(shape, dtype)
            self.assertEqual((array.shape, array.dtype), (shape, np.dtype(dtype)))
            self.assertTrue(array.flags.c_contiguous and array.flags.writeable)

    def test_memory_is_reused_after_the_last_reference(self):
        array = _core.uninitialized([2 * MIB], "float32")
        address, view = array.ctypes.data, array[MIB:]
        view[:] = 3
        del array
        self.assertEqual(_core.idle_buffer_bytes(), 0)  # the view still uses the memory
        other = _core.uninitialized([2 * MIB], "float32")
        other[:] = 4
        self.assertTrue((view == 3).all())
        del view
        self.assertEqual(_core.idle_buffer_bytes(), 8 * MIB)
        again = _core.uninitialized([2 * MIB - 9], "int32")
        self.assertEqual((again.ctypes.data, _core.idle_buffer_bytes()), (address, 0))

    def test_at_most_the_limit_is_kept(self):
        _core.set_buffer_limit(10 * MIB)
        arrays = [_core.uninitialized([4 * MIB], "uint8") for _ in range(5)]
        arrays.clear()
        self.assertEqual(_core.idle_buffer_bytes(), 8 * MIB)
        _core.set_buffer_limit(5 * MIB)
        self.assertEqual(_core.idle_buffer_bytes(), 4 * MIB)
        _core.set_buffer_limit(0)
        del arrays
        self.assertEqual(_core.idle_buffer_bytes(), 0)

    def test_threads_do_not_share_memory(self):
        wrong = []

        def use(mark):
            held = [None] * 3
            for step in range(60):
                old = held[step % 3]
                if old is not None and not (old == mark).all():
                    wrong.append((mark, step))
                held[step % 3] = array = _core.uninitialized([MIB], "uint8")
                array[:] = mark

        threads = [threading.Thread(target=use, args=(mark,)) for mark in range(1, 5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])
        self.assertLessEqual(_core.idle_buffer_bytes(), 4 * 4 * MIB)

    def test_refusals(self):
        with self.assertRaisesRegex(ep.InvalidArgument, "shape has a negative dimension: -1"):
            _core.uninitialized([-1], "float32")
        with self.assertRaisesRegex(ep.InvalidArgument, "dtype 'complex64' cannot be stored"):
            _core.uninitialized([1], "complex64")


if __name__ == "__main__":
    unittest.main()
