"""Frontiers, blocks and graphs of seed edges, with PyTorch tensors."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

import espalier as ep
from espalier.block import EID, NID
from espalier.dgl._absent import refuse
from espalier.dgl._arrays import to_numpy, to_torch
from espalier.dgl._edges import list_edges
from espalier.dgl._messages import Frame, MessagePassing, TypedFrames, _Type, _View
from espalier.types import Schema
from espalier.typing import EdgeType, NodeIds

if TYPE_CHECKING:
    import torch

    from espalier.dgl._graph import DistGraph

_NOT_OF_FRONTIERS = {name: "to_block(frontier, nodes) first; a frontier has edges and their ids"
                     for name in ("update_all", "apply_edges", "ndata", "srcdata", "dstdata", "nodes", "local_scope")}


class Frontier(ep.Frontier):
    """The sampled in-edges, with global ids. Counterpart of the graph that DGL's sample_neighbors returns. device:
    device of its tensors and those of its block; None: the CPU."""

    def __init__(self, graph: "DistGraph", frontier: ep.Frontier,
                 device: "str | torch.device | None" = None) -> None:
        self.__dict__.update(vars(frontier))
        self._graph, self.device = graph, device

    def __getattr__(self, name):
        if name in _NOT_OF_FRONTIERS:
            raise AttributeError(f"a frontier has no {name!r}: {_NOT_OF_FRONTIERS[name]}")
        raise AttributeError(f"a frontier has no {name!r}; docs/coming-from-dgl.md lists the supported names")

    def _relation(self, etype):
        number = self._schema.edge_type(etype)
        none = np.zeros(0, np.int64)  # for a type that was not sampled
        return self._relations.get(number) or (none, np.zeros(1, np.int64), none, none)

    @property
    def ntypes(self) -> list[str]:
        return self._graph.ntypes

    def num_nodes(self, ntype: str | None = None) -> int:
        return self._graph.num_nodes(ntype)

    number_of_nodes = num_nodes

    def number_of_edges(self, etype: EdgeType | None = None) -> int:
        return self.num_edges(etype)

    def edges(self, form: EdgeType | None = "uv", order: str = "eid", etype: EdgeType | None = None) -> Any:
        """Returns the edges of a type: (sources, destinations) as global ids, or another form of list_edges."""
        return list_edges(self._ends, form, order, etype)

    all_edges = edges

    def _ends(self, etype):
        return tuple(to_torch(ends, self.device) for ends in ep.Frontier.edges(self, etype))

    @property
    def edata(self) -> TypedFrames:
        return TypedFrames({names: Frame({EID: to_torch(self.edge_ids(names), self.device)})
                            for names in self.canonical_etypes})


class Block(MessagePassing, ep.Block):
    """The bipartite graph of one layer. Counterpart of DGL's blocks, based on espalier.Block: columns and `edges()` are
    tensors, while `csc()` and `edge_index()` are arrays. Layers of espalier.nn accept it."""

    is_block = True
    _remedies = {name: "layers of espalier.nn take blocks as they are" for name in
                 ("adj", "formats", "create_formats_", "add_edges", "remove_edges")}

    def __init__(self, block: ep.Block, device: "str | torch.device | None" = None, **options: Any) -> None:
        self.__dict__.update(vars(block))
        self.device = device
        names = self._schema.node_types
        for end in ("srcdata", "dstdata"):
            frames = getattr(block, end)
            by_type = frames._frames.values() if isinstance(frames, TypedFrames) else frames._by_type
            setattr(self, end, TypedFrames({name: Frame(to_torch_columns(columns, device, **options))
                                            for name, columns in zip(names, by_type)}))
        kept = getattr(block, "_edge_frames", None)
        self._edge_frames = {
            etype: Frame(to_torch_columns(kept[etype] if kept else {EID: self.edge_ids(etype)}, device, **options))
            for etype in self._schema.edge_types}
        self._ends = {}

    def to(self, device: "str | torch.device", **options: Any) -> "Block":
        """Returns the block with its columns and the rows of `edges()` on a device. options: options of `tensor.to`,
        such as non_blocking=True."""
        return Block(self, device, **options)

    def _source_frame(self, etype):
        return self.srcdata._frames[etype[0]]

    def _destination_frame(self, etype):
        return self.dstdata._frames[etype[2]]

    def _edge_frame(self, etype):
        return self._edge_frames[etype]

    def _num_destinations(self, etype):
        return self.num_dst_nodes(etype[2])

    def _all_frames(self):
        return [frame for frames in (self.srcdata._frames, self.dstdata._frames, self._edge_frames)
                for frame in frames.values()]

    @property
    def edata(self) -> TypedFrames:
        return TypedFrames(self._edge_frames)

    @property
    def srcnodes(self) -> _View:
        return _View(self.srcdata._frames.__getitem__)

    @property
    def dstnodes(self) -> _View:
        return _View(self.dstdata._frames.__getitem__)

    @property
    def ntypes(self) -> list[str]:
        return list(self._schema.node_types)

    srctypes = dsttypes = ntypes

    @property
    def etypes(self) -> list[str]:
        return [names[1] for names in self.canonical_etypes]

    @property
    def edges(self) -> "_Edges":
        """`edges(etype=)` returns (sources, destinations) as row numbers, int64 [edges] each, or another form of
        list_edges. `edges[etype].data` has the columns."""
        return _Edges(self)

    def edge_index(self, etype: EdgeType | None = None) -> np.ndarray:
        return np.stack(ep.Block.edges(self, etype))

    def number_of_src_nodes(self, ntype: str | None = None) -> int:
        return self.num_src_nodes(ntype)

    def number_of_dst_nodes(self, ntype: str | None = None) -> int:
        return self.num_dst_nodes(ntype)

    def number_of_edges(self, etype: EdgeType | None = None) -> int:
        return self.num_edges(etype)

    def in_degrees(self, etype: EdgeType | None = None) -> "torch.Tensor":
        """Returns the number of in-edges of each destination: int64 [destinations]."""
        indptr = to_torch(self.csc(etype)[0], self.device).long()
        return indptr[1:] - indptr[:-1]

    def adj_tensors(self, fmt: str, etype: EdgeType | None = None) -> "tuple[torch.Tensor, ...]":
        """Returns (indptr, sources, numbers of the edges) for "csc", and (sources, destinations) for "coo", int64
        each."""
        if fmt == "coo":
            return self.edges(etype=etype)
        if fmt != "csc":
            refuse(f"adj_tensors({fmt!r})", "it gives 'csc' and 'coo'")
        import torch

        indptr, indices = (to_torch(values, self.device).long() for values in self.csc(etype))
        return indptr, indices, torch.arange(len(indices), device=self.device)


def to_torch_columns(columns: Mapping[str, Any], device: "str | torch.device | None",
                     **options: Any) -> "dict[str, torch.Tensor]":
    """Returns columns, which are arrays or tensors, as tensors on a device. options: options of `tensor.to`."""
    tensors = {name: values if hasattr(values, "detach") else to_torch(values) for name, values in columns.items()}
    return tensors if device is None else {name: values.to(device, **options) for name, values in tensors.items()}


class _Edges:
    def __init__(self, block):
        self._block = block

    def __call__(self, form: EdgeType | None = "uv", order: str = "eid", etype: EdgeType | None = None) -> Any:
        return list_edges(self._ends, form, order, etype)

    def _ends(self, etype):
        block = self._block
        number = block._schema.edge_type(etype)
        if number not in block._ends:
            block._ends[number] = tuple(to_torch(rows, block.device) for rows in ep.Block.edges(block, etype))
        return block._ends[number]

    def __getitem__(self, etype: EdgeType) -> _Type:
        return _View(lambda name: self._block._edge_frames[self._block._etype(name)])[etype]


class PairGraph(MessagePassing):
    """Seed edges, or their negatives, between the output nodes of a mini-batch. Counterpart of DGL's pair graphs. Nodes
    are rows of `batch.output_nodes`, which is also `ndata[NID]`."""

    def __init__(self, schema: Schema, nodes: Mapping[str, Any],
                 relations: Mapping[tuple[str, str, str], tuple[Any, Any, Mapping[str, Any]]],
                 device: "str | torch.device | None" = None) -> None:
        """nodes: {node type: ids}; relations: {edge type: (sources, destinations, columns)}."""
        self._schema, self.device = schema, device
        self._node_frames = {ntype: Frame(to_torch_columns({NID: ids}, device)) for ntype, ids in nodes.items()}
        self._num_nodes = {ntype: len(ids) for ntype, ids in nodes.items()}
        self._ends = {etype: tuple(to_torch(ends, device).long() for ends in (sources, destinations))
                      for etype, (sources, destinations, _) in relations.items()}
        self._edge_frames = {etype: Frame(to_torch_columns(columns, device))
                             for etype, (_, _, columns) in relations.items()}
        self.ndata, self.edata = TypedFrames(self._node_frames), TypedFrames(self._edge_frames)
        self.srcdata = self.dstdata = self.ndata

    def to(self, device: "str | torch.device", **options: Any) -> "PairGraph":
        """Returns the graph with its columns and rows on a device. options: options of `tensor.to`."""
        moved = PairGraph(self._schema, {name: frame[NID] for name, frame in self._node_frames.items()}, {}, device)
        for mine, other in zip(self._node_frames.values(), moved._node_frames.values()):
            other.update(to_torch_columns(mine, device, **options))
        moved._ends = {etype: tuple(rows.to(device, **options) for rows in ends) for etype, ends in self._ends.items()}
        moved._edge_frames.update({etype: Frame(to_torch_columns(frame, device, **options))
                                   for etype, frame in self._edge_frames.items()})
        return moved

    @property
    def canonical_etypes(self) -> list[tuple[str, str, str]]:
        return list(self._ends)

    @property
    def ntypes(self) -> list[str]:
        return list(self._node_frames)

    @property
    def nodes(self) -> _View:
        return _View(self._node_frames.__getitem__)

    def _etype(self, etype):
        if etype is None and len(self._ends) == 1:
            return next(iter(self._ends))
        return super()._etype(etype)

    def edges(self, form: EdgeType | None = "uv", order: str = "eid", etype: EdgeType | None = None) -> Any:
        """Returns (sources, destinations) as row numbers, int64 [edges] each, or another form of list_edges."""
        return list_edges(lambda of: self._ends[self._etype(of)], form, order, etype)

    def num_edges(self, etype: EdgeType | None = None) -> int:
        return len(self._ends[self._etype(etype)][0])

    def num_nodes(self, ntype: str | None = None) -> int:
        return sum(self._num_nodes.values()) if ntype is None else self._num_nodes[ntype]

    number_of_edges, number_of_nodes = num_edges, num_nodes

    def _source_frame(self, etype):
        return self._node_frames[etype[0]]

    def _destination_frame(self, etype):
        return self._node_frames[etype[2]]

    def _edge_frame(self, etype):
        return self._edge_frames[etype]

    def _num_destinations(self, etype):
        return self._num_nodes[etype[2]]

    def _all_frames(self):
        return [*self._node_frames.values(), *self._edge_frames.values()]


def to_block(g: Frontier, dst_nodes: NodeIds | None = None, include_dst_in_src: bool = True,
             src_nodes: None = None) -> Block:
    """Converts a frontier to a block. Counterpart of dgl.to_block.

    dst_nodes: distinct ids or {node type: ids}; None: the destinations of the edges, ascending.
    """
    if not isinstance(g, Frontier):
        raise ep.InvalidArgument(f"to_block takes what sample_neighbors and in_subgraph return, not {type(g).__name__}")
    if not include_dst_in_src or src_nodes is not None:
        refuse("to_block with other sources", "the sources of a block are its destinations and then the other ends")
    return Block(ep.to_block(g._graph, g, to_numpy(dst_nodes)), g.device)
