"""Converts batches of a loader to tensors on a device. A batch for a GPU is copied while the batch before it is in use.

Each batch is put into pinned memory and copied from there on a separate stream, so the copy waits neither for the
computation on the caller's stream nor for this thread. An event after the copy makes the caller's stream wait before it
reads the batch, and record_stream keeps the memory of the batch until that stream has used it. torch's allocator of
pinned memory keeps the source of a copy until the copy is done.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import torch

from espalier.errors import EspalierError

if TYPE_CHECKING:
    from espalier.block import MiniBatch


def on_device(batches: Iterable["MiniBatch"], device: "str | torch.device") -> Iterator["MiniBatch"]:
    """Yields the batches as tensors on `device`, in their order. For a GPU, the copy of the next batch is started
    before a batch is yielded. An error of the next batch is raised when that batch is due."""
    device = torch.device(device)
    if device.type != "cuda":
        return (batch.to(device) for batch in batches)
    return copied_ahead(batches, _CudaCopies(device))


def copied_ahead(batches: Iterable["MiniBatch"], copies: Any) -> Iterator["MiniBatch"]:
    """Yields copies.finish(copies.start(batch)) for each batch. The copy of the next batch is started before a batch is
    yielded."""
    source = iter(batches)
    pending = None
    while True:
        error = None
        try:
            batch = next(source, None)
            started = None if batch is None else copies.start(batch)
        except EspalierError as raised:
            started, error = None, raised
        if pending is not None:
            yield copies.finish(pending)
        if error is not None:
            raise error
        if started is None:
            return
        pending = started


class _CudaCopies:
    def __init__(self, device):
        self._device = device if device.index is not None else torch.device("cuda", torch.cuda.current_device())
        self._stream = torch.cuda.Stream(self._device)

    def start(self, batch):
        """Returns (batch on the GPU, its tensors, the event after their copies)."""
        tensors = []

        def move(pinned):
            tensors.append(pinned.to(self._device, non_blocking=True))
            return tensors[-1]

        pinned = batch.pin_memory()
        with torch.cuda.stream(self._stream):
            moved = pinned._moved(move)
        return moved, tensors, self._stream.record_event()

    def finish(self, started):
        """Returns the batch, for use on the current stream."""
        moved, tensors, copied = started
        current = torch.cuda.current_stream(self._device)
        current.wait_event(copied)
        for tensor in tensors:
            tensor.record_stream(current)
        return moved
