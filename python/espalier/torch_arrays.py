"""The functions of arrays.py for tensors, and conversions of arrays to tensors on a device."""

import numpy as np

from espalier.errors import InvalidArgument

try:
    import torch
except ImportError as error:
    raise ImportError("blocks and batches of tensors need PyTorch: pip install torch") from error


def to_tensor(array):
    """Returns a NumPy array as a tensor that shares its memory. Returns a tensor unchanged."""
    if isinstance(array, torch.Tensor):
        return array
    if array.dtype.char == "Q":  # unsigned long long, which from_numpy refuses, though it is uint64
        array = array.view(np.uint64)
    return torch.from_numpy(array)


def mover(device, non_blocking):
    """Returns the function that moves an array or a tensor to `device`."""
    device = torch.device(device)
    return lambda array: to_tensor(array).to(device, non_blocking=non_blocking)


def pin(array):
    tensor = to_tensor(array)
    if not torch.cuda.is_available() and not tensor.is_pinned():
        raise InvalidArgument("pinned memory is for copies to a GPU, and torch finds none here")
    return tensor.pin_memory()


def zeros(count, dtype, like):
    return torch.zeros(count, dtype=getattr(torch, dtype), device=like.device)


def count_up(count, like):
    return torch.arange(count, device=like.device)


def differences(array):
    return torch.diff(array)


def repeat_rows(array, counts, total):
    return torch.repeat_interleave(array, counts.long(), dim=0, output_size=total)


def behind_zero(array):
    return torch.cat((array.new_zeros(1), array))


def to_int64(array):
    return array.long()


def to_bool(array):
    return array.bool()


stack = torch.stack
