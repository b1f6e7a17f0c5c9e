"""The process group of a job's ranks."""

import os
import sys
import warnings
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from espalier import _core
from espalier.errors import EspalierError, InvalidArgument
from espalier.types import OneCallAtATime
from espalier.typing import Values

if TYPE_CHECKING:
    from espalier.graph import DistGraph

_Array = TypeVar("_Array")  # or a CPU tensor


class ProcessGroup:
    """Collective operations of all ranks of a job. They use mutual TLS if the job does.

    Every rank must call the same operations in the same order. Sums are bitwise equal on all ranks and in all runs with
    the same number of ranks. If a rank dies, operations of the other ranks fail within moments. After an operation
    ended by Ctrl-C or an error, the group cannot be used any more. Not thread-safe: a call raises FailedPrecondition if
    another operation is pending.
    """

    def __init__(self, core):
        self._core = core
        self._calls = OneCallAtATime("process group")

    @property
    def rank(self) -> int:
        return self._core.rank

    @property
    def size(self) -> int:
        return self._core.size

    def all_reduce(self, array: _Array, timeout: float | None = None) -> _Array:
        """Replaces the values of `array` (float32 or float64, contiguous) by their sums over all ranks, in place.
        timeout: seconds. A CPU tensor of torch is summed through its `numpy()`."""
        values = _in_place(array, "all_reduce")
        if values.dtype not in (np.float32, np.float64):
            raise InvalidArgument(f"all_reduce takes float32 or float64, not {values.dtype}")
        with self._calls:
            self._core.all_reduce_sum(values, timeout)
        return array

    def broadcast(self, array: _Array, root: int = 0, timeout: float | None = None) -> _Array:
        """Replaces the values of `array` (contiguous, of the same size on all ranks) by those of rank `root`."""
        values = _in_place(array, "broadcast")
        with self._calls:
            self._core.broadcast(values.reshape(-1).view(np.uint8), root, timeout)
        return array

    def all_gather(self, array: Values, timeout: float | None = None) -> np.ndarray:
        """Returns the arrays of all ranks, which have the same shape and dtype: [ranks, ...]."""
        values = np.ascontiguousarray(array)
        with self._calls:
            all_bytes = self._core.all_gather(values.reshape(-1).view(np.uint8), timeout)
        return all_bytes.view(values.dtype).reshape((self.size,) + values.shape)

    def barrier(self, timeout: float | None = None) -> None:
        """Blocks until every rank has called it."""
        with self._calls:
            self._core.barrier(timeout)

    def agree(self, error: BaseException | None = None) -> None:
        """Raises on all ranks the `error` (an exception or None) of the lowest rank that has one. Returns if no rank
        has one."""
        code = error.code if isinstance(error, EspalierError) else "INTERNAL"
        with self._calls:
            try:
                self._core.agree("" if error is None else code, "" if error is None else f"{error}")
            except EspalierError as agreed:
                raise agreed from error

    def init_torch(self) -> None:
        """Makes this group the default group of torch.distributed, with the backend name "espalier".
        DistributedDataParallel and the collective functions of torch.distributed then use it. Every rank must call this
        function instead of torch.distributed.init_process_group.

        Only CPU tensors are supported. Unlike Gloo and NCCL, which always send in plaintext, this group uses mutual TLS
        if the job does. FailedPrecondition: torch.distributed already has a default group.
        """
        from espalier import torch_backend

        torch_backend.init(self)

    def leave(self) -> None:
        """Leaves the group. Operations of other ranks that need this rank then fail with Unavailable."""
        self._core.leave()


def _in_place(array, operation):
    """Returns a writable array that is `array` or shares the memory of a CPU tensor of torch."""
    values = array if isinstance(array, np.ndarray) else None
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor) and array.device.type == "cpu":
        values = array.detach().numpy()
    if values is None:
        raise InvalidArgument(f"{operation} changes an array or a CPU tensor in place, and takes no {type(array).__name__}")
    if not values.flags.c_contiguous or not values.flags.writeable:
        raise InvalidArgument(f"{operation} takes a writable contiguous array")
    return values


def warn_of_plaintext():
    """Warns once per process if torch.distributed sends in plaintext between the ranks of a job with mutual TLS."""
    distributed = sys.modules.get("torch.distributed")
    if not os.environ.get("ESPALIER_TLS_CA") or distributed is None or not distributed.is_available():
        return
    if distributed.is_initialized() and distributed.get_world_size() > 1 and distributed.get_backend() != "espalier":
        warnings.warn(f"torch.distributed's {distributed.get_backend()} sends in plaintext between the ranks of a job with "
                      "mutual TLS; espalier.init_process_group(g).init_torch() does not", stacklevel=3)


def init_process_group(g: "DistGraph", timeout: float | None = None) -> ProcessGroup:
    """Connects all ranks of the job of `g` and returns their ProcessGroup. No port has to be chosen. Every rank must
    call this function once."""
    return ProcessGroup(_core.init_process_group(g._core, timeout))
