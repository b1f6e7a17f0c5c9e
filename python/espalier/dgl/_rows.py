"""Columns and distributed tensors with rows as PyTorch tensors."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import espalier as ep
from espalier.dgl import _session
from espalier.dgl._absent import Remedies
from espalier.dgl._arrays import numpy_dtype, to_numpy, to_torch, torch_dtype
from espalier.typing import Ids, Values

if TYPE_CHECKING:
    import numpy.typing as npt
    import torch

    from espalier.dgl._graph import DistGraph, GraphPartitionBook

_ROWS_AT_ONCE = 1 << 16
PART_OF_MASK = {"train_mask": "train", "val_mask": "validation", "test_mask": "test"}


class PartitionPolicy:
    """The rows of a tensor: one for each node or edge of a type. Counterpart of DGL's NodePartitionPolicy and
    EdgePartitionPolicy. `DistGraph.get_node_partition_policy` returns one."""

    def __init__(self, graph: "DistGraph", kind: str, number: int) -> None:
        self._graph, self.kind, self.number = graph, kind, number

    @property
    def type_name(self) -> str | tuple[str, str, str]:
        schema = self._graph._schema
        return schema.node_types[self.number] if self.kind == "node" else schema.edge_types[self.number]

    @property
    def policy_str(self) -> str:
        return f"{self.kind}~{self.type_name if self.kind == 'node' else ':'.join(self.type_name)}"

    @property
    def partition_book(self) -> "GraphPartitionBook":
        return self._graph.get_partition_book()

    def get_size(self) -> int:
        """Returns the number of rows in all partitions."""
        core = self._graph._core
        return core.num_nodes(self.number) if self.kind == "node" else core.num_edges(self.number)


class Column(Remedies):
    """A column. `column[ids]` reads rows as a tensor on the CPU. `split`: the NodesOfSplit or EdgesOfSplit of which it
    is the mask, or None."""

    _remedies = {"local_partition": "rows of any partition are read by their ids"}

    def __init__(self, graph: "DistGraph", source: Any, policy: PartitionPolicy | None,
                 split: ep.NodesOfSplit | None = None) -> None:
        self._graph, self._source, self.part_policy, self.split = graph, source, policy, split

    @property
    def name(self) -> str:
        return self._source.name

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self._source.shape)

    @property
    def dtype(self) -> "torch.dtype":
        return torch_dtype(self._source.dtype)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, ids: Ids | slice) -> "torch.Tensor":
        return to_torch(self._source[to_numpy(ids)])

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        return np.asarray(self._source, dtype=dtype)

    __iter__ = None

    def count_nonzero(self) -> int:
        """Returns the number of values that are not 0."""
        return int(np.count_nonzero(np.asarray(self._source)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(name={self.name!r}, shape={self.shape}, dtype={self.dtype})"


class _SplitMask:
    """The mask of a part of a split, uint8 [n], computed from the graph's list of ids."""

    dtype = np.dtype(np.uint8)

    def __init__(self, name, num_rows, read_ids):
        self.name, self.shape = name, (num_rows,)
        self._read_ids, self._values = read_ids, None

    def __array__(self, dtype=None, copy=None):
        if self._values is None:
            self._values = np.zeros(self.shape, self.dtype)
            self._values[self._read_ids()] = 1
        return np.array(self._values, dtype=dtype)

    def __getitem__(self, ids):
        return np.atleast_1d(np.asarray(self)[ids])


class Columns:
    """The columns of one node or edge type by name: `g.ndata`.

    If the type has exactly one split, there are columns train_mask, val_mask and test_mask, uint8 [n], even if no such
    columns are stored. They stand for the parts of the split, which `node_split` divides without reading a mask.
    """

    def __init__(self, graph: "DistGraph", frame: Any, kind: str, number: int) -> None:
        self._graph, self._frame, self._kind, self._number = graph, frame, kind, number

    def _policy(self):
        return PartitionPolicy(self._graph, self._kind, self._number)

    def _splits(self):
        """Returns the names of the splits of this node type. Returns none for an edge type: its splits are lists of
        node pairs, not of edge ids."""
        if self._kind != "node":
            return []
        return [row[1] for row in self._graph._core.node_splits if row[0] == self._number]

    def _split_of(self, name):
        """Returns the part of a split for which a mask column stands. Stored mask columns belong to the split
        "masks"."""
        splits = self._splits()
        if name not in PART_OF_MASK or (len(splits) != 1 if name not in self._frame else "masks" not in splits):
            return None
        split = splits[0] if name not in self._frame else "masks"
        return ep.NodesOfSplit(split, PART_OF_MASK[name], self._policy().type_name)

    def keys(self) -> list[str]:
        return self._frame.keys() + [name for name in PART_OF_MASK if name not in self._frame and self._split_of(name)]

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self.keys())

    def __contains__(self, name: str) -> bool:
        return name in self.keys()

    def __getitem__(self, name: str) -> "Column | DistTensor":
        split = self._split_of(name)
        if name in self._frame:
            source = self._frame[name]
            if isinstance(source, ep.DistTensor):  # attached
                return DistTensor._of(self._graph, source, self._policy())
            return Column(self._graph, source, self._policy(), split)
        if split is None:
            if name in PART_OF_MASK and self._splits():
                raise ep.NotFound(f"there is no column {name!r}, and of several splits ({', '.join(self._splits())}) "
                                  "none is meant by it: give node_split an espalier.NodesOfSplit(split, part)")
            return Column(self._graph, self._frame[name], self._policy())  # raises NotFound, with the names that exist
        schema = self._graph._schema
        mask = _SplitMask(name, self._policy().get_size(), lambda: self._graph._core.split_nodes(
            schema.node_type(split.ntype), split.split, split.part, None))
        return Column(self._graph, mask, self._policy(), split)

    def __setitem__(self, name: str, tensor: "DistTensor") -> None:
        if not isinstance(tensor, DistTensor):
            raise ep.InvalidArgument(f"a column must be a DistTensor, not {type(tensor).__name__}")
        self._frame[name] = tensor._source

    def __delitem__(self, name: str) -> None:
        del self._frame[name]

    def pop(self, name: str) -> "Column | DistTensor":
        tensor = self[name]
        del self[name]
        return tensor


class DistTensor(Column):
    """A tensor whose rows are on the graph servers. Counterpart of DGL's DistTensor, based on espalier.DistTensor.

    shape: [rows, ...]. If the number of rows is that of one node or edge type of the newest DistGraph, or with
    `part_policy`, the tensor has one row for each node or edge of the type and can be one of its columns; otherwise it
    belongs to no type. Every rank must create the same tensors in the same order. With init_func, creation waits for
    all ranks: rank 0 calls init_func(shape, dtype) -> tensor for pieces of the rows. Without init_func, rows are 0.
    persistent: whether the rows are kept after this object is deleted. is_gdata and attach have no effect: the
    assignment `g.ndata[name] = tensor` makes the tensor a column.
    """

    def __init__(self, shape: int | Sequence[int], dtype: "npt.DTypeLike | torch.dtype | None" = None,
                 name: str | None = None,
                 init_func: "Callable[[tuple[int, ...], torch.dtype], Values] | None" = None,
                 part_policy: PartitionPolicy | None = None, persistent: bool = False, is_gdata: bool = True,
                 attach: bool = True) -> None:
        graph = part_policy._graph if part_policy is not None else _session.current_graph()
        shape = tuple(int(size) for size in (shape if np.ndim(shape) else (shape,)))
        if not shape:
            raise ep.InvalidArgument("the shape of a tensor begins with its number of rows")
        policy = part_policy or _policy_of(graph, shape[0])
        if policy is not None and policy.get_size() != shape[0]:
            raise ep.InvalidArgument(f"{shape[0]} rows, but policy {policy.policy_str} has {policy.get_size()}")
        where = {} if policy is None else {"ntype" if policy.kind == "node" else "etype": policy.type_name}
        name = name or _session.anonymous_name("tensor")

        def create():
            return ep.DistTensor.create(graph, shape if policy is None else shape[1:],
                                        np.float32 if dtype is None else numpy_dtype(dtype), name,
                                        persistent=bool(persistent), **where)

        source = create() if init_func is None else _initialized(graph, name, where, create, init_func)
        super().__init__(graph, source, policy)

    @classmethod
    def _of(cls, graph, source, policy):
        tensor = cls.__new__(cls)
        Column.__init__(tensor, graph, source, policy)
        return tensor

    def __setitem__(self, ids: Ids | slice, values: Values) -> None:
        self._source[to_numpy(ids)] = to_numpy(values)

    def count_nonzero(self) -> int:
        return self._source.count_nonzero()


def _policy_of(graph, num_rows):
    policies = [PartitionPolicy(graph, kind, number)
                for kind, types in (("node", graph._schema.node_types), ("edge", graph._schema.edge_types))
                for number in range(len(types))]
    found = [policy for policy in policies if policy.get_size() == num_rows]
    if len(found) > 1:
        raise ep.InvalidArgument(f"{num_rows} rows are those of {', '.join(policy.policy_str for policy in found)}; "
                                 "give part_policy=g.get_node_partition_policy(ntype), or that of an edge type")
    return found[0] if found else None


def initial_rows(init_func: "Callable[[tuple[int, ...], torch.dtype], Values]", dtype: "npt.DTypeLike",
                 row_shape: tuple[int, ...]) -> Callable[[int, int], Any]:
    """Returns the function (first row, number of rows) -> array that calls DGL's init_func(shape, dtype)."""
    return lambda first, count: to_numpy(init_func((count, *row_shape), torch_dtype(dtype)))


def _initialized(graph, name, where, create, init_func):
    """Creates a tensor with its initial values on rank 0, and then on the other ranks. An existing tensor keeps its
    rows."""
    group, source, error = _session.process_group(graph), None, None
    if group.rank == 0:
        try:
            try:
                source = ep.DistTensor.open(graph, name, **where)
            except ep.NotFound:
                source = create()
                rows_of = initial_rows(init_func, source.dtype, source.shape[1:])
                for first in range(0, len(source), _ROWS_AT_ONCE):
                    count = min(_ROWS_AT_ONCE, len(source) - first)
                    source[np.arange(first, first + count)] = rows_of(first, count)
        except Exception as raised:  # raised below on all ranks, which wait for rank 0
            error = raised
    try:
        group.agree(error)
    except ep.EspalierError:
        if error is not None:
            raise error from None
        raise
    return create() if source is None else source
