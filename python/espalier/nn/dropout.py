"""Dropout with the same bits as in the C++ trainer."""

from collections.abc import Iterable

import numpy as np
import torch

from espalier import _core
from espalier.block import MiniBatch
from espalier.errors import InvalidArgument
from espalier.graph import DistGraph
from espalier.nn import functional as F
from espalier.nn.functional import Edges
from espalier.typing import EdgeType


class StepKeys:
    """The values that determine the dropout masks of a step: the seed, the batch's epoch and step, and the original ids
    of its rows.

        keys = ep.nn.StepKeys(g, batch, seed=1)
        logits = model(batch.blocks, x, keys)

    Whether an element is dropped does not depend on the partition, rank, thread or position that computes it. Masks are
    therefore the same after a resume, with another number of ranks, and in the C++ trainer with this seed. The original
    ids are taken from the batch if the sampler has `prefetch_node_feats="original_id"`; otherwise they are read from
    the graph.
    """

    def __init__(self, g: DistGraph, batch: MiniBatch, seed: int = 0) -> None:
        self.seed, self.epoch, self.step = seed, batch.epoch, batch.step
        self._schema = g._schema
        columns = batch.blocks[0].srcdata if batch.blocks else {}
        read = columns["original_id"] if "original_id" in columns else {}
        read = read if isinstance(read, dict) else {g.ntypes[0]: read}
        self._ids = [self._as_ids(read[name]) if name in read else
                     batch._like_nodes(g.to_original_ids(nodes, name)) for name, nodes in batch._host_inputs().items()]

    @staticmethod
    def _as_ids(column):
        if isinstance(column, torch.Tensor):
            return column.long().reshape(-1).contiguous()
        return np.ascontiguousarray(column, dtype=np.int64).reshape(-1)

    def ids(self, ntype: str | None = None, count: int | None = None) -> np.ndarray | torch.Tensor:
        """Returns the original ids of the first `count` rows of a type: int64 [count], a tensor if the batch has
        tensors."""
        return self._ids[self._schema.node_type(ntype)][:count]

    def masks(self, rows: Iterable[tuple[str | None, int]],
              layer: int | None = None) -> list[tuple[int, np.ndarray | torch.Tensor]]:
        """Returns the masks of `rows`, [(node type or None, number of rows)], for functional.drop_elements. layer: the
        layer that writes the rows; None: the rows are the model's input."""
        masks = []
        for ntype, count in rows:
            number = self._schema.node_type(ntype)
            if layer is None:
                key = _core.input_dropout_key(self.seed, self.epoch, self.step, number)
            else:
                key = _core.dropout_key(self.seed, self.epoch, self.step, layer, number)
            masks.append((key, self._ids[number][:count]))
        return masks

    def attention_masks(self, edges: Edges, layer: int, etype: EdgeType | None = None
                        ) -> tuple[int, np.ndarray | torch.Tensor, np.ndarray | torch.Tensor]:
        """Returns (key, ids of sources, ids of destinations) of a layer's edges (functional.drop_edges)."""
        number = self._schema.edge_type(etype)
        key = _core.attention_dropout_key(self.seed, self.epoch, self.step, layer, number)
        return (key, self._ids[self._schema.source_of(number)][:edges.num_src],
                self._ids[self._schema.destination_of(number)][:edges.num_dst])


class Dropout(torch.nn.Module):
    """Drops elements of rows [n, F] during training, by the masks of StepKeys. Counterpart of torch.nn.Dropout, which
    uses torch's generator.

    p: at least 0 and below 1, in steps of 1/65536. layer: the layer, from 0, whose output is dropped; None: the model's
    input.
    """

    def __init__(self, p: float = 0.5, layer: int | None = None) -> None:
        super().__init__()
        if not 0 <= p < 1:
            raise InvalidArgument(f"dropout must be from 0 to below 1, not {p}")
        self.p, self.layer = p, layer

    def forward(self, x: torch.Tensor, keys: StepKeys | None = None, ntype: str | None = None) -> torch.Tensor:
        """Returns x with elements dropped. x: the first rows of node type `ntype` of the batch. keys: StepKeys;
        required during training."""
        if not self.training or self.p == 0:
            return x
        if keys is None:
            raise InvalidArgument("dropout by the trainer's bits needs StepKeys(g, batch, seed) while training")
        return F.drop_elements(x, self.p, keys.masks([(ntype, len(x))], self.layer))

    def extra_repr(self) -> str:
        return f"p={self.p}, layer={self.layer}"
