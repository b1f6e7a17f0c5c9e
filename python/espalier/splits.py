"""Divides nodes and edges among ranks."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from espalier.dataloading import EdgesOfSplit, NodesOfSplit
from espalier.errors import InvalidArgument
from espalier.tensor import Column, DistTensor
from espalier.types import to_ids
from espalier.typing import EdgeType, Ids

if TYPE_CHECKING:
    from espalier.graph import DistGraph


class NodeShare(np.ndarray):
    """Global ids of one rank's nodes: int64 [n], with `largest`, the size of the largest rank's share, by which all
    ranks have epochs of equal length. Arrays derived from it have `largest` None."""

    largest: int | None = None

    @classmethod
    def of(cls, ids: np.ndarray, largest: int) -> "NodeShare":
        share = ids.view(cls)
        share.largest = largest
        return share


class EdgeShare:
    """One rank's edges: `sources`, `destinations` (global node ids), `ids` (may be empty for a named split), `columns`
    ({name: rows}) and `largest`, the size of the largest rank's share."""

    def __init__(self, etype: int, sources: np.ndarray, destinations: np.ndarray, ids: np.ndarray,
                 columns: dict[str, np.ndarray], largest: int) -> None:
        self.etype = etype
        self.sources, self.destinations, self.ids = sources, destinations, ids
        self.columns, self.largest = columns, largest

    def __len__(self) -> int:
        return len(self.sources)


def node_split(nodes: NodesOfSplit | DistTensor | Ids, g: "DistGraph", *, ntype: str | None = None,
               local: bool = False) -> NodeShare:
    """Returns this rank's share (NodeShare) of nodes. All ranks divide the nodes in the same way, without
    communication.

    nodes: NodesOfSplit(split, part), a mask (DistTensor or column of the nodes, or an array of bools for all nodes of the type
    in the order of global ids), or an array of ids that is the same on all ranks. local: whether nodes are assigned to
    ranks by the partition that owns them, so that sizes of shares may differ; otherwise they differ by at most one.
    """
    if isinstance(nodes, NodesOfSplit):
        number = g._schema.node_type(nodes.ntype if nodes.ntype is not None else ntype)
        return NodeShare.of(*g._core.node_split_of_part(number, nodes.split, nodes.part, local))
    if isinstance(nodes, DistTensor):
        return NodeShare.of(*g._core.node_split_of_mask(nodes._core, local))
    number = g._schema.node_type(ntype)
    return NodeShare.of(*g._core.node_split_of_ids(number, _selected(nodes, g._core.num_nodes(number)), local))


def edge_split(edges: EdgesOfSplit | DistTensor | Ids, g: "DistGraph", *, etype: EdgeType | None = None,
               local: bool = False, columns: Iterable[str] = (), ids: bool = False) -> EdgeShare:
    """Returns this rank's share (EdgeShare) of edges, as `node_split` does for nodes.

    edges: EdgesOfSplit(split, part), a mask (DistTensor or column of the edges, or an array of bools), or an array of edge ids.
    columns, ids: edge columns to return with the share of a named split, and whether to return its edge ids.
    """
    if isinstance(edges, EdgesOfSplit):
        number = g._schema.edge_type(edges.only_type(g) if edges.etypes else etype)
        return EdgeShare(number, *g._core.edge_split_of_part(number, edges.split, edges.part, local, list(columns), ids))
    if columns or ids:
        raise InvalidArgument("columns and ids are for named splits; a share of ids or of a mask has ids")
    number = g._schema.edge_type(etype)
    if isinstance(edges, DistTensor):
        return EdgeShare(number, *g._core.edge_split_of_mask(edges._core, local))
    return EdgeShare(number, *g._core.edge_split_of_ids(number, _selected(edges, g._core.num_edges(number)), local))


def _selected(values, total):
    array = np.asarray(values)
    if isinstance(values, Column):  # a stored mask: [n] or [n, 1], not 0 where the item is selected
        array = array.reshape(-1) != 0
    if array.dtype != np.bool_:
        return to_ids(array)
    if array.shape != (total,):
        raise InvalidArgument(f"a mask must have shape ({total},), not {array.shape}")
    return np.flatnonzero(array).astype(np.int64)
