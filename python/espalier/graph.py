"""A partitioned graph as one graph."""

import os
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from espalier import _core
from espalier.distributed import warn_of_plaintext
from espalier.errors import InvalidArgument, NotFound
from espalier.partition_book import PartitionBook
from espalier.tensor import Column, DistTensor
from espalier.types import Schema, to_ids
from espalier.typing import EdgeIds, EdgeType, Ids


class DistGraph:
    """Read access to a partitioned graph, as if it were one graph. Counterpart of DGL's DistGraph.

    Without arguments, opens the graph of the job that runs this program (the environment variables of
    docs/programs.md). partitions: folder or s3:// URI of partitions, with manifest.json, which this process then opens
    itself. servers: "host:port" of each partition's graph server. environment: variables that replace the environment
    of the process.

    Several graphs may be open at once. Thread-safe. Ctrl-C ends a call. A child that was forked from a process with an
    open graph cannot use it (FailedPrecondition); start children with "spawn".
    """

    def __init__(self, partitions: str | os.PathLike[str] | None = None, *, servers: str | Sequence[str] | None = None,
                 environment: Mapping[str, str] | None = None) -> None:
        settings = dict(os.environ if environment is None else environment)
        if partitions is not None and servers is not None:
            raise InvalidArgument("a graph has partitions or servers, not both")
        if partitions is not None:
            settings.pop("ESPALIER_SERVERS", None)
            settings["ESPALIER_PARTITIONS"] = os.fspath(partitions)
        if servers is not None:
            settings.pop("ESPALIER_PARTITIONS", None)
            settings["ESPALIER_SERVERS"] = servers if isinstance(servers, str) else ",".join(servers)
        self._core = _core.open(settings)
        self._schema = Schema(self._core.node_types, self._core.edge_types)
        self._node_frames = [_NodeFrame(self, number) for number in range(len(self._schema.node_types))]
        self._edge_frames = [_EdgeFrame(self, number) for number in range(len(self._schema.edge_types))]
        warn_of_plaintext()

    def __repr__(self) -> str:
        return (f"DistGraph(name={self.name!r}, num_nodes={self.num_nodes()}, num_edges={self.num_edges()}, "
                f"num_partitions={self._core.num_partitions}, rank={self.rank()})")

    @property
    def name(self) -> str:
        return self._core.name

    def rank(self) -> int:
        """Returns the number of this process among the ranks of its job, from 0."""
        return self._core.rank

    @property
    def world_size(self) -> int:
        return self._core.world_size

    # --- types

    @property
    def ntypes(self) -> list[str]:
        return list(self._schema.node_types)

    @property
    def etypes(self) -> list[str]:
        """The names of the relations, in the order of `canonical_etypes`."""
        return [names[1] for names in self._schema.edge_types]

    @property
    def canonical_etypes(self) -> list[tuple[str, str, str]]:
        return list(self._schema.edge_types)

    def num_nodes(self, ntype: str | None = None) -> int:
        """Returns the number of nodes of a type, or of all types if `ntype` is None."""
        if ntype is None:
            return sum(self._core.num_nodes(number) for number in range(len(self._schema.node_types)))
        return self._core.num_nodes(self._schema.node_type(ntype))

    def num_edges(self, etype: EdgeType | None = None) -> int:
        """Returns the number of edges of a type, or of all types if `etype` is None."""
        if etype is None:
            return sum(self._core.num_edges(number) for number in range(len(self._schema.edge_types)))
        return self._core.num_edges(self._schema.edge_type(etype))

    number_of_nodes = num_nodes
    number_of_edges = num_edges

    def get_partition_book(self) -> PartitionBook:
        return PartitionBook(self._core, self._schema)

    # --- columns

    @property
    def ndata(self) -> "_NodeFrame":
        """The columns of the nodes. Only for a graph with one node type."""
        return self._node_frames[self._schema.node_type()]

    @property
    def edata(self) -> "_EdgeFrame":
        """The columns of the edges. Only for a graph with one edge type."""
        return self._edge_frames[self._schema.edge_type()]

    @property
    def nodes(self) -> "_Frames":
        """The columns of nodes by type: `g.nodes["paper"].data["feat"]`."""
        return _Frames(lambda name: self._node_frames[self._schema.node_type(name)])

    @property
    def edges(self) -> "_Frames":
        """The columns of edges by type: `g.edges["writes"].data["weight"]`."""
        return _Frames(lambda name: self._edge_frames[self._schema.edge_type(name)])

    # --- ids and splits

    def to_global_ids(self, ids: Ids, ntype: str | None = None) -> np.ndarray:
        """Returns the global id of each id of the input graph: int64 [n]. OutOfRange: an id does not exist."""
        return self._core.to_global_ids(self._schema.node_type(ntype), to_ids(ids), None)

    def to_original_ids(self, nodes: Ids, ntype: str | None = None) -> np.ndarray:
        """Returns the id of each node in the input graph: int64 [n]."""
        return to_ids(self._core.node_rows(self._schema.node_type(ntype), "original_id", to_ids(nodes, "nodes"), None))

    @property
    def node_splits(self) -> dict[tuple[str, str], dict[str, int]]:
        """The sizes of all splits of nodes: {(node type, split): {"train": size, "validation": size, "test": size}}."""
        return {(self._schema.node_types[number], name): dict(train=train, validation=validation, test=test)
                for number, name, train, validation, test in self._core.node_splits}

    @property
    def edge_splits(self) -> dict[tuple[tuple[str, str, str], str], dict[str, int]]:
        """The sizes of all splits of edges: {(canonical edge type, split): {"train": size, "validation": size, "test":
        size}}."""
        return {(self._schema.edge_types[number], name): dict(train=train, validation=validation, test=test)
                for number, name, train, validation, test in self._core.edge_splits}

    def split_nodes(self, split: str, part: str = "train", ntype: str | None = None) -> np.ndarray:
        """Returns all nodes of one part of a split, in the order of their ids in the input graph: int64 [n]."""
        return self._core.split_nodes(self._schema.node_type(ntype), split, part, None)

    def split_edges(self, split: str, part: str = "train",
                    etype: EdgeType | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Returns (sources, destinations) of one part of a split of edges, in the order of the input files."""
        return self._core.split_edges(self._schema.edge_type(etype), split, part)

    # --- structure

    def find_edges(self, edges: Ids, etype: EdgeType | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Returns (sources, destinations) of edges, int64 [n] each."""
        ends = self._core.find_edges(self._schema.edge_type(etype), to_ids(edges, "edges"), None)
        return ends[0], ends[1]

    def in_degrees(self, nodes: Ids, etype: EdgeType | None = None) -> np.ndarray:
        """Returns the number of in-edges of each node: int64 [n]."""
        return self._core.in_degrees(self._schema.edge_type(etype), to_ids(nodes, "nodes"), None).astype("int64")

    def out_degrees(self, nodes: Ids, etype: EdgeType | None = None) -> np.ndarray:
        """Returns the number of out-edges of each node: int64 [n]."""
        number = self._schema.edge_type(etype)
        rows = self._core.node_rows(self._schema.source_of(number), self._core.out_degree_column(number),
                                    to_ids(nodes, "nodes"), None)
        return rows.astype("int64")

    def edge_subgraph(self, edges: EdgeIds) -> tuple[dict[str, np.ndarray],
                                                     dict[tuple[str, str, str], tuple[np.ndarray, ...]]]:
        """Returns the subgraph of these edges: ({node type: nodes}, {canonical edge type: (edge ids, sources,
        destinations)}). Sources and destinations are positions in the arrays of nodes. Repeated edges are kept."""
        nodes, relations = self._core.edge_subgraph(self._schema.by_edge_type(edges), None)
        return (dict(zip(self._schema.node_types, nodes)),
                {self._schema.edge_types[number]: (ids, sources, destinations)
                 for number, ids, sources, destinations in relations})

    # --- functions of server plugins

    def call_function(self, function: str, request: bytes = b"", *, partition: int | None = None,
                      changes_tensors: bool = False) -> list[bytes] | bytes:
        """Calls a function of a plugin of the servers, "plugin/function", with bytes (docs/server-plugins.md).

        Returns the responses of all partitions in their order, or only the response of `partition`. changes_tensors:
        must be True for functions that write to tensors; they then run exactly once.
        """
        responses = self._core.call_function(partition, function, bytes(request), changes_tensors, None)
        return responses if partition is None else responses[0]


class _Frames:
    def __init__(self, find):
        self._find = find

    def __getitem__(self, name) -> "_Frame":
        return _Frame(self._find(name))


class _Frame:
    def __init__(self, columns: "_NodeFrame | _EdgeFrame"):
        self.data = columns


class _Columns:
    """The columns of one type by name: those of the input graph, and attached tensors."""

    def __init__(self, graph, number):
        self._graph, self._number = graph, number
        self._attached = {}

    def _described(self):
        raise NotImplementedError

    def keys(self) -> list[str]:
        return [name for name, _, _ in self._described()] + list(self._attached)

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self.keys())

    def __contains__(self, name) -> bool:
        return name in self.keys()

    def __getitem__(self, name) -> Column | DistTensor:
        if name in self._attached:
            return self._attached[name]
        for column, dtype, row_shape in self._described():
            if column == name:
                shape = (self._num_rows(), *row_shape)
                return Column(name, shape, dtype, lambda ids: self._read(name, ids))
        raise NotFound(f"there is no column {name!r} of {self._what()}; there are {', '.join(self.keys()) or 'none'}")

    def __setitem__(self, name, tensor) -> None:
        """Attaches a DistTensor of these nodes or edges as a column of this process's graph. Loaders can read it
        too."""
        if not isinstance(tensor, DistTensor):
            raise InvalidArgument(f"a column must be a DistTensor, not {type(tensor).__name__}")
        if tensor._core.rows != (self._kind, self._number):
            raise InvalidArgument(f"the rows of tensor {tensor.name!r} are not those of {self._what()}")
        if name in self._attached:
            del self[name]
        tensor._core.attach(name)
        self._attached[name] = tensor

    def __delitem__(self, name) -> None:
        if name not in self._attached:
            raise NotFound(f"no tensor is attached as {name!r}")
        self._attached.pop(name)._core.detach(name)


class _NodeFrame(_Columns):
    _kind = "nodes"

    def _described(self):
        return [(name, dtype, row_shape) for number, name, dtype, row_shape in self._graph._core.node_columns
                if number == self._number]

    def _num_rows(self):
        return self._graph._core.num_nodes(self._number)

    def _read(self, name, ids):
        return self._graph._core.node_rows(self._number, name, ids, None)

    def _what(self):
        return f"node type {self._graph._schema.node_types[self._number]!r}"


class _EdgeFrame(_Columns):
    _kind = "edges"

    def _described(self):
        return [(name, dtype, row_shape) for number, name, dtype, row_shape in self._graph._core.edge_columns
                if number == self._number]

    def _num_rows(self):
        return self._graph._core.num_edges(self._number)

    def _read(self, name, ids):
        return self._graph._core.edge_rows(self._number, name, ids, None)

    def _what(self):
        return f"edge type {':'.join(self._graph._schema.edge_types[self._number])!r}"
