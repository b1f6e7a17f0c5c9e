"""Graphs in the memory of this process, for `partition_graph` and from `load_partition`."""

from collections.abc import Mapping
from typing import Any

import numpy as np

import espalier as ep
from espalier.dgl._absent import Remedies
from espalier.dgl._arrays import to_numpy, to_torch
from espalier.dgl._edges import list_edges
from espalier.dgl._messages import Frame, TypedFrames, _Type, _View
from espalier.typing import EdgeType, Ids


class HostGraph(Remedies):
    """A graph to be partitioned. Counterpart of DGLGraph with the part that `partition_graph` needs: `ndata`, `edata`,
    `nodes[t].data`, `edges(etype=)`, counts. `dgl.graph` and `dgl.heterograph` create one."""

    _remedies = {name: "partition it, and open it as a DistGraph" for name in
                 ("update_all", "apply_edges", "in_edges", "subgraph", "adj", "local_scope", "to", "in_degrees")}

    def __init__(self, edges: Mapping[tuple[str, str, str], tuple[Ids, Ids]], num_nodes: Mapping[str, int]) -> None:
        """edges: {(source type, relation, destination type): (sources, destinations)}; num_nodes: {type: number}."""
        self._ends = {etype: tuple(np.asarray(to_numpy(ends)) for ends in pair) for etype, pair in edges.items()}
        self._num_nodes = dict(num_nodes)
        self._node_frames = {ntype: Frame() for ntype in self._num_nodes}
        self._edge_frames = {etype: Frame() for etype in self._ends}
        self.ndata, self.edata = TypedFrames(self._node_frames), TypedFrames(self._edge_frames)

    @property
    def ntypes(self) -> list[str]:
        return list(self._num_nodes)

    @property
    def canonical_etypes(self) -> list[tuple[str, str, str]]:
        return list(self._ends)

    @property
    def etypes(self) -> list[str]:
        return [names[1] for names in self._ends]

    def to_canonical_etype(self, etype: str | tuple[str, str, str] | None) -> tuple[str, str, str]:
        """Returns the canonical edge type with this name; None: the only edge type."""
        found = [names for names in self._ends if etype is None or etype == names or etype == names[1]]
        if len(found) != 1:
            raise ep.InvalidArgument(f"edge type {etype!r}; expected one of {', '.join(map(str, self._ends))}")
        return found[0]

    def num_nodes(self, ntype: str | None = None) -> int:
        return sum(self._num_nodes.values()) if ntype is None else self._num_nodes[ntype]

    def num_edges(self, etype: str | tuple[str, str, str] | None = None) -> int:
        if etype is None:
            return sum(len(sources) for sources, _ in self._ends.values())
        return len(self._ends[self.to_canonical_etype(etype)][0])

    number_of_nodes, number_of_edges = num_nodes, num_edges

    @property
    def nodes(self) -> _View:
        return _View(self._node_frames.__getitem__)

    @property
    def edges(self) -> "_EdgesOfHost":
        """`edges(etype=)` returns (sources, destinations) or another form of list_edges. `edges[etype].data` has the
        columns."""
        return _EdgesOfHost(self)

    def __repr__(self):
        return f"HostGraph(num_nodes={self._num_nodes}, num_edges={ {e: self.num_edges(e) for e in self._ends} })"


class _EdgesOfHost:
    def __init__(self, graph):
        self._graph = graph

    def __call__(self, form: EdgeType | None = "uv", order: str = "eid", etype: EdgeType | None = None) -> Any:
        graph = self._graph
        return list_edges(lambda of: tuple(map(to_torch, graph._ends[graph.to_canonical_etype(of)])), form, order, etype)

    def __getitem__(self, etype: str | tuple[str, str, str]) -> _Type:
        return _View(self._graph._edge_frames.__getitem__)[self._graph.to_canonical_etype(etype)]


def _count(ends):
    return max((int(ids.max()) + 1 for ids in ends if len(ids)), default=0)


def graph(data: tuple[Ids, Ids], *, num_nodes: int | None = None) -> HostGraph:
    """Returns the graph of (sources, destinations), ids from 0. Counterpart of dgl.graph."""
    ends = tuple(np.asarray(to_numpy(ids)) for ids in data)
    return HostGraph({("_N", "_E", "_N"): ends}, {"_N": _count(ends) if num_nodes is None else int(num_nodes)})


def heterograph(data_dict: Mapping[tuple[str, str, str], tuple[Ids, Ids]],
                num_nodes_dict: Mapping[str, int] | None = None) -> HostGraph:
    """Returns the graph of {(source type, relation, destination type): (sources, destinations)}. Counterpart of
    dgl.heterograph."""
    edges = {tuple(etype): tuple(np.asarray(to_numpy(ids)) for ids in ends) for etype, ends in data_dict.items()}
    counts = {}
    for (source, _, destination), ends in edges.items():
        for ntype, ids in zip((source, destination), ends):
            counts[ntype] = max(counts.get(ntype, 0), _count([ids]))
    counts.update(num_nodes_dict or {})
    return HostGraph(edges, {ntype: int(counts[ntype]) for ntype in sorted(counts)})
