"""Learnable rows (dgl.distributed.nn)."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import espalier as ep
from espalier.dgl import _rows, _session
from espalier.dgl._absent import Remedies
from espalier.dgl._arrays import to_numpy
from espalier.dgl._rows import PartitionPolicy
from espalier.typing import Ids, Values

if TYPE_CHECKING:
    import torch


class DistEmbedding(Remedies, ep.DistEmbedding):
    """Learnable rows of nodes, of edges, or of neither. Counterpart of DGL's DistEmbedding, based on
    espalier.DistEmbedding.

        emb = dgl.distributed.DistEmbedding(g.num_nodes(), 64, init_func=f)
        optimizer = dgl.distributed.optim.SparseAdagrad([emb], lr=0.01)
        rows = emb(ids)      # a leaf of autograd: float32 [n, 64]
        ...
        optimizer.step()

    num_embeddings: number of rows. If it is that of one node or edge type of the newest DistGraph, or with
    `part_policy`, there is one row for each node or edge of the type. The rows are created at the first use, on all
    ranks together, after the optimizer was created. Rank 0 then calls init_func(shape, dtype) -> tensor for pieces of
    the rows. Without init_func, rows are 0.
    """

    _remedies = {"weight": "rows are read by their ids: emb[ids]", "data": "rows are read by their ids: emb[ids]",
                 "optm_state": "espalier.save_tensors saves the optimizer's state with the embedding",
                 "kvstore": "rows lie on the graph servers, and are read by their ids"}

    def __init__(self, num_embeddings: int, embedding_dim: int, name: str | None = None,
                 init_func: "Callable[[tuple[int, ...], torch.dtype], Values] | None" = None,
                 part_policy: PartitionPolicy | None = None) -> None:
        graph = part_policy._graph if part_policy is not None else _session.current_graph()
        policy = part_policy or _rows._policy_of(graph, int(num_embeddings))
        rows = {"num_rows": int(num_embeddings)} if policy is None else {
            "ntype" if policy.kind == "node" else "etype": policy.type_name}
        init = "zeros" if init_func is None else _rows.initial_rows(init_func, "float32", (int(embedding_dim),))
        super().__init__(graph, _session.process_group(graph), embedding_dim, **rows, init=init,
                         name=name or _session.anonymous_name("embedding"))
        self.num_embeddings = int(num_embeddings)

    def __call__(self, idx: Ids, device: "str | torch.device | None" = None) -> "torch.Tensor":
        return super().__call__(to_numpy(idx), device)

    def reset_trace(self) -> None:
        """Discards the reads since the last step."""
        self.forget()
