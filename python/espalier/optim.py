"""Sparse optimizers of DistEmbedding. A step changes only the rows with a gradient, on the servers that own them.

For a row with a gradient in every step, each optimizer is equivalent to torch's dense optimizer of the same name.
Gradients of several reads of a row in one step are added, as in autograd; with `mean_of_duplicates=True` their mean is
used, as in DGL.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from espalier.errors import InvalidArgument

if TYPE_CHECKING:
    from espalier.embedding import DistEmbedding

__all__ = ["SparseAdagrad", "SparseAdam", "SparseAdamW", "SparseRowWiseAdagrad", "SparseSGD"]


class _SparseOptimizer:
    kind = ""

    def __init__(self, embeddings: "DistEmbedding | Iterable[DistEmbedding]", lr: float, *, weight_decay: float = 0.0,
                 eps: float | None = None, initial_accumulator_value: float = 0.0,
                 betas: tuple[float, float] = (0.9, 0.999), mean_of_duplicates: bool = False) -> None:
        self.embeddings = list(embeddings) if isinstance(embeddings, (list, tuple)) else [embeddings]
        self.lr = lr
        self._numbers = (weight_decay, eps, initial_accumulator_value, *betas)
        self._mean_of_duplicates = mean_of_duplicates
        self._left = []
        for embedding in self.embeddings:
            embedding._set_optimizer(self)

    def step(self) -> None:
        """Ends a step of every embedding: sends the gradients of the rows that were read since the last step, if any.
        All ranks must call it equally often."""
        self._left = self._left or list(self.embeddings)  # after an error, those that have not taken the step
        while self._left:
            self._left[0]._step_by_autograd(self.lr)
            del self._left[0]

    def zero_grad(self) -> None:
        """Discards the reads since the last step, to skip a batch."""
        for embedding in self.embeddings:
            embedding.forget()


class SparseSGD(_SparseOptimizer):
    """Stochastic gradient descent."""

    kind = "SGD"


class SparseAdagrad(_SparseOptimizer):
    """Adagrad (Duchi, Hazan, Singer 2011) with a sum of squares for each element."""

    kind = "Adagrad"


class SparseRowWiseAdagrad(_SparseOptimizer):
    """Adagrad with one sum for each row, which adds up the mean squares of its gradients."""

    kind = "RowWiseAdagrad"


class SparseAdam(_SparseOptimizer):
    """Adam (Kingma and Ba 2015)."""

    kind = "Adam"


class SparseAdamW(_SparseOptimizer):
    """AdamW (Loshchilov and Hutter 2019)."""

    kind = "AdamW"


def check_optimizer(optimizer):
    if optimizer is None:
        raise InvalidArgument("an embedding is created with its optimizer: make one of espalier.optim with it first")
    return optimizer
