"""Reads of blocks by layers."""

from typing import Any

import torch

from espalier.block import Block
from espalier.errors import InvalidArgument
from espalier.nn.functional import Edges
from espalier.typing import EdgeType


class RelationBlock:
    """One relation of a block with several relations, for a layer that takes one relation. Counterpart of DGL's
    `block[canonical_etype]`."""

    def __init__(self, block: Block, etype: EdgeType) -> None:
        self._block, self._etype = block, etype
        number = block._schema.edge_type(etype)
        self.canonical_etype = block._schema.edge_types[number]

    @property
    def canonical_etypes(self) -> list[tuple[str, str, str]]:
        return [self.canonical_etype]

    def csc(self) -> tuple[Any, Any]:
        return self._block.csc(self.canonical_etype)

    @property
    def device(self) -> "str | torch.device | None":
        """The device of a block of espalier.dgl; None for other blocks, whose arrays or tensors determine the
        device."""
        return getattr(self._block, "device", None)

    def num_src_nodes(self) -> int:
        return self._block.num_src_nodes(self.canonical_etype[0])

    def num_dst_nodes(self) -> int:
        return self._block.num_dst_nodes(self.canonical_etype[2])

    def num_edges(self) -> int:
        return self._block.num_edges(self.canonical_etype)


def rows_of(block: Block | RelationBlock,
            feat: torch.Tensor | tuple[torch.Tensor, torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns (rows of sources, rows of destinations) from a tensor [N, F] or a pair."""
    source, destination = feat if isinstance(feat, tuple) else (feat, feat[:block.num_dst_nodes()])
    if len(source) != block.num_src_nodes() or len(destination) != block.num_dst_nodes():
        raise InvalidArgument(f"the block has {block.num_src_nodes()} sources and {block.num_dst_nodes()} "
                              f"destinations, and the features are of {len(source)} and {len(destination)}")
    return source, destination


def edges_of(block: Block | RelationBlock, self_loops: bool = False, allow_zero_in_degree: bool = True) -> Edges:
    """Returns the block's Edges. InvalidArgument: a destination has no edges, and neither self_loops nor
    allow_zero_in_degree is set."""
    edges = Edges.of_block(block, self_loops)
    if not allow_zero_in_degree and not self_loops and (edges.in_degrees() == 0).any():
        raise InvalidArgument("a destination of the block has no in-edges, and its output would not depend on any "
                              "neighbor; pass self_loops=True, or allow_zero_in_degree=True for zeros")
    return edges


def pair_of(in_feats: int | tuple[int, int]) -> tuple[int, int]:
    return in_feats if isinstance(in_feats, tuple) else (in_feats, in_feats)


def edge_weights(weight: torch.Tensor, edges: Edges) -> torch.Tensor:
    """Returns the weights of edges, [E] or [E, 1], as [E, 1]."""
    if weight.numel() != edges.num_edges or weight.dim() > 2:
        raise InvalidArgument(f"there are {edges.num_edges} edges, and weights of shape {list(weight.shape)}")
    return weight.reshape(-1, 1)
