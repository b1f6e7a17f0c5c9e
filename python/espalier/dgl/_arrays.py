"""Converts arrays of espalier to PyTorch tensors and back."""

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import torch


# Unsigned integers become signed ones, as in DGL; PyTorch supports few operations on unsigned integers.
_SIGNED = {"uint16": np.dtype("int32"), "uint32": np.dtype("int64"), "uint64": np.dtype("int64")}


def to_torch(array: Any, device: "str | torch.device | None" = None) -> Any:
    """Returns an array, or each array of a dict, as a tensor; on the CPU without a copy. Unsigned integers except uint8
    become signed."""
    if isinstance(array, dict):
        return {name: to_torch(values, device) for name, values in array.items()}
    import torch

    array = np.asarray(array)
    array = array.astype(_SIGNED.get(array.dtype.name, array.dtype), copy=False)
    tensor = torch.from_numpy(np.ascontiguousarray(array))
    return tensor if device is None else tensor.to(device)


def to_numpy(values: Any) -> Any:
    """Returns tensors, also in a dict, as arrays. Returns other values unchanged."""
    if isinstance(values, dict):
        return {name: to_numpy(value) for name, value in values.items()}
    return values.detach().cpu().numpy() if hasattr(values, "detach") else values


def numpy_dtype(dtype: Any) -> np.dtype:
    """Returns the NumPy dtype of a dtype of either library."""
    name = str(dtype)
    return np.dtype(name.removeprefix("torch.") if name.startswith("torch.") else dtype)


def torch_dtype(dtype: Any) -> "torch.dtype":
    import torch

    name = np.dtype(dtype).name
    return getattr(torch, _SIGNED[name].name if name in _SIGNED else name)
