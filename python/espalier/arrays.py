"""Functions of blocks and batches for NumPy arrays. torch_arrays has the same functions for tensors."""

import numpy as np


def zeros(count, dtype, like):
    return np.zeros(count, dtype)


def count_up(count, like):
    """Returns 0, 1, ...: int64 [count]."""
    return np.arange(count, dtype=np.int64)


def differences(array):
    """Returns array[i + 1] - array[i]: [n - 1]."""
    return np.diff(array)


def repeat_rows(array, counts, total):
    """Returns row i of `array` counts[i] times. total: the sum of counts, passed so that it need not be read back from
    a GPU."""
    return np.repeat(array, counts, axis=0)


def behind_zero(array):
    """Returns a 0 followed by `array`: [n + 1]."""
    return np.concatenate((np.zeros(1, array.dtype), array))


def to_int64(array):
    return array.astype(np.int64)


def to_bool(array):
    return array.astype(bool)


stack = np.stack
