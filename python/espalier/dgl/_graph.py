"""DGL's DistGraph and its partition book, based on those of espalier."""

import collections
import os
from typing import TYPE_CHECKING, Any

import numpy as np

import espalier as ep
from espalier.dgl import _session
from espalier.dgl._absent import Remedies, module_getattr
from espalier.dgl._arrays import to_numpy, to_torch
from espalier.dgl._rows import Columns, PartitionPolicy
from espalier.types import Schema
from espalier.typing import EdgeType, Ids, Path

if TYPE_CHECKING:
    import torch

Scheme = collections.namedtuple("Scheme", ["shape", "dtype"])  # of a column's rows


class _DglSchema(Schema):
    """Names of types. DGL's names "_N" and "_E" also mean the only type."""

    def node_type(self, name=None):
        if name == "_N" and "_N" not in self.node_types:
            name = None
        return super().node_type(name)

    def edge_type(self, name=None):
        if name in ("_E", ("_N", "_E", "_N")) and all(names[1] != "_E" for names in self.edge_types):
            name = None
        return super().edge_type(name)


class DistGraph(ep.DistGraph):
    """A partitioned graph as one graph. Counterpart of DGL's DistGraph, based on espalier.DistGraph. It returns tensors
    on the CPU.

    In a job (ESPALIER_SERVERS), or if ESPALIER_PARTITIONS is set, opens the graph of that variable and ignores the
    arguments. Otherwise opens all partitions of `part_config`, the JSON file written by `partition_graph`, in this
    process. `gpb` is ignored unless it is the path of that file, as in the user guide's example. InvalidArgument: no
    graph is specified.
    """

    def __init__(self, graph_name: str, gpb: "Path | GraphPartitionBook | None" = None,
                 part_config: Path | None = None) -> None:
        if isinstance(gpb, (str, os.PathLike)) and part_config is None:
            part_config = gpb
        if _session.is_given_a_graph():
            graph = ep.DistGraph()
        elif part_config is not None:
            graph = ep.DistGraph(_session.partitions_of(part_config))
        else:
            raise ep.InvalidArgument(f"graph {graph_name!r}: the program runs in no job and ESPALIER_PARTITIONS is not "
                                     "set; give part_config, the JSON file of partition_graph")
        self._take(graph)
        _session.use_graph(self)

    def _take(self, graph):
        """Takes over the attributes of `graph`, an espalier.DistGraph."""
        self.__dict__.update(vars(graph))
        self._schema = _DglSchema(graph._schema.node_types, graph._schema.edge_types)
        self._node_frames = [Columns(self, frame, "node", number) for number, frame in enumerate(graph._node_frames)]
        self._edge_frames = [Columns(self, frame, "edge", number) for number, frame in enumerate(graph._edge_frames)]
        return self

    if TYPE_CHECKING:  # the types of espalier.DistGraph's properties with these frames
        @property
        def ndata(self) -> Columns: ...

        @property
        def edata(self) -> Columns: ...

        @property
        def nodes(self) -> Any: ...

        @property
        def edges(self) -> Any: ...

    def __getattr__(self, name):
        return _absent_from_graph(name)

    def get_partition_book(self) -> "GraphPartitionBook":
        return GraphPartitionBook(self)

    def barrier(self) -> None:
        """Blocks until every rank has called it."""
        _session.process_group(self).barrier()

    def get_node_partition_policy(self, ntype: str | None) -> PartitionPolicy:
        return PartitionPolicy(self, "node", self._schema.node_type(ntype))

    def get_edge_partition_policy(self, etype: EdgeType | None) -> PartitionPolicy:
        return PartitionPolicy(self, "edge", self._schema.edge_type(etype))

    def get_ntype_id(self, ntype: str | None) -> int:
        return self._schema.node_type(ntype)

    def get_etype_id(self, etype: EdgeType | None) -> int:
        return self._schema.edge_type(etype)

    def to_canonical_etype(self, etype: EdgeType | None) -> tuple[str, str, str]:
        return self._schema.edge_types[self._schema.edge_type(etype)]

    def node_attr_schemes(self, ntype: str | None = None) -> dict[str, Scheme]:
        """Returns {column: (shape of a row, dtype)}."""
        return _schemes(self._node_frames[self._schema.node_type(ntype)])

    def edge_attr_schemes(self, etype: EdgeType | None = None) -> dict[str, Scheme]:
        return _schemes(self._edge_frames[self._schema.edge_type(etype)])

    def find_edges(self, edges: Ids, etype: EdgeType | None = None) -> "tuple[torch.Tensor, torch.Tensor]":
        return tuple(map(to_torch, super().find_edges(to_numpy(edges), etype)))

    def in_degrees(self, v: Ids | str = "__ALL__", etype: EdgeType | None = None) -> "torch.Tensor":
        """Returns the number of in-edges of nodes, by default of all nodes: int64 [n]."""
        return to_torch(super().in_degrees(self._ends(v, etype, 2), etype))

    def out_degrees(self, u: Ids | str = "__ALL__", etype: EdgeType | None = None) -> "torch.Tensor":
        return to_torch(super().out_degrees(self._ends(u, etype, 0), etype))

    def _ends(self, nodes, etype, end):
        if not isinstance(nodes, str):
            return to_numpy(nodes)
        return np.arange(self.num_nodes(self._schema.edge_types[self._schema.edge_type(etype)][end]))

    def to_global_ids(self, ids: Ids, ntype: str | None = None) -> "torch.Tensor":
        return to_torch(super().to_global_ids(to_numpy(ids), ntype))

    def to_original_ids(self, nodes: Ids, ntype: str | None = None) -> "torch.Tensor":
        return to_torch(super().to_original_ids(to_numpy(nodes), ntype))


_absent_from_graph = module_getattr("DistGraph", {
    "local_partition": "the partitions are on the servers; load_partition reads one from its files",
    "get_graph": "espalier.dgl.DistGraph is the graph",
    "adj": "sample_neighbors and in_subgraph give edges",
    "update_all": "messages are of blocks; espalier.infer and jobs compute all nodes",
    "sample_neighbors": "dgl.distributed.sample_neighbors(g, nodes, fanout)",
})


def _schemes(frame):
    return {name: Scheme(frame[name].shape[1:], frame[name].dtype) for name in frame}


class GraphPartitionBook(Remedies):
    """Maps nodes and edges to their partitions. Counterpart of DGL's GraphPartitionBook. Ids are those within a
    type."""

    _remedies = {
        "map_to_homo_nid": "ids are those of a type everywhere",
        "map_to_homo_eid": "ids are those of a type everywhere",
        "map_to_per_ntype": "ids are those of a type everywhere",
        "map_to_per_etype": "ids are those of a type everywhere",
        "shared_memory": "partitions are mapped files, which processes of a host share",
    }

    def __init__(self, graph: DistGraph) -> None:
        self._graph, self._book = graph, ep.DistGraph.get_partition_book(graph)

    def num_partitions(self) -> int:
        return self._book.num_partitions()

    @property
    def ntypes(self) -> list[str]:
        return self._graph.ntypes

    @property
    def canonical_etypes(self) -> list[tuple[str, str, str]]:
        return self._graph.canonical_etypes

    def to_canonical_etype(self, etype: EdgeType | None) -> tuple[str, str, str]:
        return self._graph.to_canonical_etype(etype)

    def metadata(self) -> list[dict[str, int]]:
        """Returns a dict {"machine_id", "num_nodes", "num_edges"} for each partition, of all types."""
        counts = {}
        for what, types, ranges in (("num_nodes", self.ntypes, self._book.node_ranges),
                                    ("num_edges", self.canonical_etypes, self._book.edge_ranges)):
            counts[what] = sum(np.diff(ranges(name)) for name in types)
        return [{"machine_id": part, **{what: int(values[part]) for what, values in counts.items()}}
                for part in range(self.num_partitions())]

    def nid2partid(self, nids: Ids, ntype: str | None = "_N") -> "torch.Tensor":
        return to_torch(self._book.nid2partid(to_numpy(nids), ntype))

    def eid2partid(self, eids: Ids, etype: EdgeType | None = "_E") -> "torch.Tensor":
        return to_torch(self._book.eid2partid(to_numpy(eids), etype))

    def partid2nids(self, partid: int, ntype: str | None = "_N") -> "torch.Tensor":
        """Returns the nodes of a partition, which are consecutive: int64 [n]."""
        first = self._book.node_ranges(ntype)
        return to_torch(np.arange(first[partid], first[partid + 1]))

    def partid2eids(self, partid: int, etype: EdgeType | None = "_E") -> "torch.Tensor":
        first = self._book.edge_ranges(etype)
        return to_torch(np.arange(first[partid], first[partid + 1]))

    def nid2localnid(self, nids: Ids, partid: int, ntype: str | None = "_N") -> "torch.Tensor":
        return to_torch(self._book.nid2localnid(to_numpy(nids), partid, ntype))

    def eid2localeid(self, eids: Ids, partid: int, etype: EdgeType | None = "_E") -> "torch.Tensor":
        return to_torch(self._book.eid2localeid(to_numpy(eids), partid, etype))
