"""Sparse optimizers (dgl.distributed.optim). As in DGL, they use the mean of the gradients of a row that was read
several times in a step."""

from collections.abc import Iterable

from espalier import optim
from espalier.dgl._absent import Remedies, module_getattr
from espalier.embedding import DistEmbedding

_SAVED = "espalier.checkpoint and espalier.save_tensors save embeddings with their optimizer's state"


class _Optimizer(Remedies):
    _remedies = {name: _SAVED for name in ("save", "load", "state_dict", "load_state_dict", "local_state_dict")}


class SparseAdagrad(_Optimizer, optim.SparseAdagrad):
    """Counterpart of DGL's SparseAdagrad, based on espalier.optim.SparseAdagrad. params: DistEmbeddings."""

    def __init__(self, params: DistEmbedding | Iterable[DistEmbedding], lr: float, eps: float = 1e-10) -> None:
        super().__init__(params, lr, eps=eps, mean_of_duplicates=True)


class SparseAdam(_Optimizer, optim.SparseAdam):
    """Counterpart of DGL's SparseAdam, based on espalier.optim.SparseAdam."""

    def __init__(self, params: DistEmbedding | Iterable[DistEmbedding], lr: float,
                 betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8) -> None:
        super().__init__(params, lr, betas=betas, eps=eps, mean_of_duplicates=True)


__getattr__ = module_getattr("espalier.dgl.distributed.optim", {
    "SparseGradOptimizer": "SparseAdagrad and SparseAdam are there; espalier.optim has more"})
