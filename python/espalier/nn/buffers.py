"""Memory for the activations and gradients of a step, reused by the next step."""

import math
from collections.abc import Sequence

import torch

from espalier import _core
from espalier.types import to_int

_LEAST_BYTES = 1 << 20  # smaller tensors need no buffer, because the C library reuses their memory
_DTYPES = {torch.float32: ("float32", 4), torch.int32: ("int32", 4), torch.uint8: ("uint8", 1)}  # with bytes of a value


def uninitialized(like: torch.Tensor, shape: Sequence[int], dtype: torch.dtype | None = None) -> torch.Tensor:
    """Returns a tensor with uninitialized values on the device of `like`. dtype: None: that of `like`. On CPUs, a large
    tensor uses memory that an earlier tensor has released, if there is any."""
    dtype = like.dtype if dtype is None else dtype
    if like.device.type == "cpu" and dtype in _DTYPES:
        name, num_bytes = _DTYPES[dtype]
        if math.prod(shape) * num_bytes >= _LEAST_BYTES:
            return torch.from_numpy(_core.uninitialized(list(shape), name))
    return torch.empty(shape, dtype=dtype, device=like.device)


def set_buffer_limit(num_bytes: int) -> None:
    """Sets how many bytes of released activations and gradients this process keeps for the next step, 1 GiB by default.
    Memory beyond the limit is returned to the system at once; 0 keeps none. Results do not depend on the limit."""
    _core.set_buffer_limit(to_int(num_bytes, "num_bytes", most=2**63 - 1))
