"""Batches of any items, made into mini-batches by a function."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from espalier.errors import InvalidArgument
from espalier.types import to_int


class DistDataLoader:
    """Batches of a dataset, each as `collate_fn` makes it of its items. Counterpart of DGL's DistDataLoader.

    dataset: an array or tensor, of whose rows a batch is an array or tensor, or a sequence, of whose items it is a
    list. collate_fn: called with them in the thread of the loop; None: batches are the items. seed: of shuffling, by
    which an epoch's order depends on the seed and the epoch alone. Loaders of nodes and edges, which sample on threads
    of the library, are DistNodeDataLoader and DistEdgeDataLoader.

    Each iteration is an epoch: the one after the last iteration's. After load_state_dict the first one is the rest of
    the loaded epoch.
    """

    def __init__(self, dataset: Any, batch_size: int, *, collate_fn: Callable[[Any], Any] | None = None,
                 shuffle: bool = False, drop_last: bool = False, seed: int = 0) -> None:
        self._dataset, self._collate = dataset, collate_fn
        self._shuffle, self._drop_last = bool(shuffle), bool(drop_last)
        self._batch_size, self._seed = to_int(batch_size, "batch_size", least=1), to_int(seed, "seed")
        self._epoch, self._step, self._begun = 0, 0, False  # of the next batch, as of the other loaders

    def __len__(self) -> int:
        """Number of batches of an epoch."""
        size = len(self._dataset)
        return size // self._batch_size if self._drop_last else -(-size // self._batch_size)

    def state_dict(self) -> dict[str, int]:
        """Returns the position of the next batch, {"epoch": e, "step": s, ...}."""
        return {"epoch": self._epoch, "step": self._step, "batch_size": self._batch_size, "seed": self._seed}

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """InvalidArgument: the state is of a loader with another batch size or seed."""
        for name, here in ("batch_size", self._batch_size), ("seed", self._seed):
            if state.get(name, here) != here:
                raise InvalidArgument(f"the state is of a loader with {name} {state[name]}, not {here}")
        self.set_epoch(state["epoch"])
        self._step = to_int(state["step"], "step", most=len(self))

    def set_epoch(self, epoch: int) -> None:
        """Makes the next iteration epoch `epoch`, from its first step."""
        self._epoch, self._step, self._begun = to_int(epoch, "epoch", most=2**32 - 1), 0, False

    def __iter__(self) -> Iterator[Any]:
        if self._begun:  # and left before its end
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
