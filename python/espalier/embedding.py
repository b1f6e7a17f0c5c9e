"""Learnable rows on the graph servers."""

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np

from espalier import _core
from espalier.distributed import ProcessGroup
from espalier.errors import InvalidArgument
from espalier.optim import check_optimizer
from espalier.types import OneCallAtATime, to_ids, to_int
from espalier.typing import EdgeType, Ids, Path, Values

if TYPE_CHECKING:
    import torch

    from espalier.graph import DistGraph


class DistEmbedding:
    """Learnable rows of nodes, of edges, or of neither. Counterpart of DGL's DistEmbedding. docs/learnable-rows.md
    describes how steps work.

        emb = ep.DistEmbedding(g, group, 64, ntype="author", name="author", init="normal", init_values=(0, 0.1))
        optimizer = ep.optim.SparseAdagrad([emb], lr=0.01)

        rows = emb(batch.input_nodes)        # with torch: a leaf of autograd
        loss(rows).backward()
        optimizer.step()

        rows = emb[ids]                      # with NumPy alone
        emb.step(ids, gradients, lr=0.01)

    Every rank creates the same embeddings in the same order and takes the same steps. A step is complete when all ranks
    have taken it. With one rank, results are bitwise equal for every partitioning. Not thread-safe.

    dim: number of values of a row. ntype, etype: the type whose nodes or edges have one row each. num_rows: number of
    rows that belong to neither nodes nor edges. name: unique in the job among embeddings of the same nodes, edges or
    neither. init, init_values, seed: as in DistTensor.create; or init is a function of (first row, number of rows) that
    returns float32 [number, dim]; rank 0 calls it for all rows when they are created. resume_from: folder or URI
    written by `save_tensors`; rows, optimizer state and version are restored from it.
    """

    def __init__(self, g: "DistGraph", group: ProcessGroup, dim: int, *, num_rows: int | None = None,
                 ntype: str | None = None, etype: EdgeType | None = None, name: str,
                 init: str | Callable[[int, int], Values] = "zeros", init_values: Iterable[float] = (), seed: int = 0,
                 resume_from: Path | None = None) -> None:
        given = [value is not None for value in (num_rows, ntype, etype)]
        if sum(given) > 1:
            raise InvalidArgument("an embedding has num_rows, an ntype or an etype")
        schema = g._schema
        if num_rows is not None:
            self._rows = ("own", 0, to_int(num_rows, "num_rows"))
        elif etype is not None:
            self._rows = ("edges", schema.edge_type(etype), 0)
        else:
            self._rows = ("nodes", schema.node_type(ntype), 0)
        self._graph, self._group, self.name, self.embedding_dim = g, group, name, to_int(dim, "dim", least=1)
        rows_of = init if callable(init) else None
        self._init = ("zeros" if rows_of else init, [float(value) for value in init_values], to_int(seed, "seed"),
                      rows_of and (lambda first, count: np.ascontiguousarray(rows_of(first, count), np.float32)))
        self._resume_from = "" if resume_from is None else os.fspath(resume_from)
        self._optimizer, self._core = None, None
        self._calls = OneCallAtATime("embedding")
        self._reads = []  # (ids, leaf of autograd)

    def _set_optimizer(self, optimizer):
        if self._core is not None:
            raise InvalidArgument(f"the rows of embedding {self.name!r} were already created with another optimizer")
        self._optimizer = optimizer

    def _table(self):
        """The rows on the servers. The first use creates them, on all ranks together."""
        if self._core is None:
            optimizer = check_optimizer(self._optimizer)
            with self._group._calls:
                self._core = self._create(optimizer)
        return self._core

    def _create(self, optimizer):
        return _core.create_embedding(
                self._graph._core, self._group._core, *self._rows, self.embedding_dim, self.name, *self._init,
                optimizer.kind, optimizer._numbers, optimizer._mean_of_duplicates, self._resume_from, dict(os.environ))

    @property
    def version(self) -> int:
        """Number of steps so far."""
        return self._table().version

    def __getitem__(self, ids: Ids) -> np.ndarray:
        """Returns the current values of rows, after all steps so far: float32 [n, dim]."""
        rows = to_ids(ids, "rows")
        with self._calls:
            return self._table().gather(self._graph._core, rows, None)

    def step(self, ids: Ids, gradients: Values, lr: float) -> None:
        """Ends a step with the gradients of rows, float32 [n, dim]. ids may repeat. A rank without gradients passes
        empty arrays. lr: must be the same on all ranks."""
        rows = to_ids(ids, "rows")
        values = np.ascontiguousarray(gradients, dtype=np.float32)
        if values.shape != (len(rows), self.embedding_dim):
            if values.size or len(rows):
                raise InvalidArgument(f"gradients of shape {values.shape} do not fit {len(rows)} rows of "
                                      f"{self.embedding_dim} values")
            values = np.zeros((0, self.embedding_dim), np.float32)
        with self._calls:
            self._table().step(self._graph._core, rows, values, lr, None)

    def __call__(self, ids: Ids, device: "str | torch.device | None" = None) -> "torch.Tensor":
        """Returns rows as a torch tensor that requires a gradient: float32 [n, dim]. The optimizer's next step sends the
        gradient. Under torch.no_grad() the result requires no gradient."""
        import torch

        rows = to_ids(ids, "rows")
        values = torch.from_numpy(self[rows])
        if device is not None:
            values = values.to(device)
        if torch.is_grad_enabled():
            values.requires_grad_()
            self._reads.append((rows, values))
        return values

    def forget(self) -> None:
        """Discards the reads since the last step, so that the next step sends no gradients for them."""
        self._reads.clear()

    def _step_by_autograd(self, lr):
        reads = [(rows, leaf.grad) for rows, leaf in self._reads if leaf.grad is not None]
        gradients = [grad.detach().cpu().to_dense().numpy() for _, grad in reads]
        self.step(np.concatenate([rows for rows, _ in reads]) if reads else [],
                  np.concatenate(gradients) if reads else [], lr)
        self._reads.clear()  # after an error the step can be repeated

    def await_steps(self) -> None:
        """Blocks until the servers have acknowledged all gradients that this rank sent."""
        with self._calls:
            self._table().await_steps(self._graph._core, None)

    def drop(self) -> None:
        """Waits for all ranks, then frees the rows on the servers."""
        with self._calls, self._group._calls:
            self._table().drop(self._group._core)
        self._core = None

    def __repr__(self) -> str:
        return f"DistEmbedding(name={self.name!r}, dim={self.embedding_dim})"
