"""A loader of batches of arbitrary items, which a function converts."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from espalier.errors import InvalidArgument
from espalier.types import to_int


class DistDataLoader:
    """Batches of a dataset, each converted by `collate_fn`. Counterpart of DGL's DistDataLoader.

    dataset: an array or tensor, or a sequence. A batch is an array or tensor of rows, or a list of items of the
    sequence. collate_fn: called with the batch in the thread of the loop, and its result is yielded; None: yields the
    batch. seed: seed of shuffling; the order of an epoch depends only on the seed and the epoch. For nodes and edges,
    DistNodeDataLoader and DistEdgeDataLoader sample on threads of the library.

    Each iteration is one epoch, which follows that of the last iteration. After load_state_dict the first iteration is
    the rest of the loaded epoch.
    """

    def __init__(self, dataset: Any, batch_size: int, *, collate_fn: Callable[[Any], Any] | None = None,
                 shuffle: bool = False, drop_last: bool = False, seed: int = 0) -> None:
        self._dataset, self._collate = dataset, collate_fn
        self._shuffle, self._drop_last = bool(shuffle), bool(drop_last)
        self._batch_size, self._seed = to_int(batch_size, "batch_size", least=1), to_int(seed, "seed")
        self._epoch, self._step, self._begun = 0, 0, False  # of the next batch, as in the other loaders

    def __len__(self) -> int:
        """Number of batches of an epoch."""
        size = len(self._dataset)
        return size // self._batch_size if self._drop_last else -(-size // self._batch_size)

    def state_dict(self) -> dict[str, int]:
        """Returns the position of the next batch, {"epoch": e, "step": s, ...}."""
        return {"epoch": self._epoch, "step": self._step, "batch_size": self._batch_size, "seed": self._seed}

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """Continues at the position in `state`. InvalidArgument: the state is that of a loader with another batch size
        or seed."""
        for name, here in ("batch_size", self._batch_size), ("seed", self._seed):
            if state.get(name, here) != here:
                raise InvalidArgument(f"the state is of a loader with {name} {state[name]}, not {here}")
        self.set_epoch(state["epoch"])
        self._step = to_int(state["step"], "step", most=len(self))

    def set_epoch(self, epoch: int) -> None:
        """Starts the next iteration at the first step of epoch `epoch`."""
        self._epoch, self._step, self._begun = to_int(epoch, "epoch", most=2**32 - 1), 0, False

    def __iter__(self) -> Iterator[Any]:
        if self._begun:  # the last iteration was left early
            self.set_epoch(self._epoch + 1)
        return self._batches()

    def _batches(self):
        epoch, size = self._epoch, self._batch_size
        order = np.arange(len(self._dataset))
        if self._shuffle:
            order = np.random.default_rng([self._seed, epoch]).permutation(order)
        for step in range(self._step, len(self)):
            batch = self._items(order[step * size:(step + 1) * size])
            self._epoch, self._step, self._begun = epoch, step + 1, True
            yield batch if self._collate is None else self._collate(batch)
        self.set_epoch(epoch + 1)

    def _items(self, numbers):
        if hasattr(self._dataset, "shape"):
            return self._dataset[numbers]
        return [self._dataset[number] for number in numbers]
