"""Distributed tensors, and columns of nodes and edges."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from espalier import _core
from espalier.errors import InvalidArgument
from espalier.types import to_ids, to_int
from espalier.typing import EdgeType, Ids, Values

if TYPE_CHECKING:
    from espalier.graph import DistGraph


def _values(values, dtype, shape):
    """Returns `values` as an array of `dtype`, broadcast to `shape`."""
    array = np.asarray(values)
    if array.shape != shape:
        try:
            array = np.broadcast_to(array, shape)
        except ValueError:
            raise InvalidArgument(f"values of shape {array.shape} do not fit rows of shape {shape}") from None
    cast = np.ascontiguousarray(array, dtype=dtype)
    if not np.can_cast(array.dtype, dtype, "same_kind") and not np.array_equal(cast.astype(array.dtype), array):
        raise InvalidArgument(f"values of {array.dtype} do not fit {dtype}")
    return cast


class DistTensor:
    """A tensor whose rows are on the graph servers. Counterpart of DGL's DistTensor. docs/dist-tensors.md describes the
    guarantees.

    `tensor[ids]` reads rows, and `tensor[ids] = values` assigns them. ids are global ids of the tensor's nodes or
    edges, or row numbers of a tensor without either. Assigned rows are visible to all ranks after the statement. At
    most one rank at a time may assign a row; `add`, `minimum` and `maximum` may be called by any number of ranks at
    once.
    """

    def __init__(self, g, core):
        self._graph, self._core = g, core

    @classmethod
    def create(cls, g: "DistGraph", shape: int | Iterable[int], dtype: npt.DTypeLike = np.float32,
               name: str | None = None, *, ntype: str | None = None, etype: EdgeType | None = None, init: str = "zeros",
               init_values: Iterable[float] = (), seed: int = 0, persistent: bool = False) -> "DistTensor":
        """Creates a tensor, or opens an existing one with this name.

        shape: [rows, ...]; with `ntype` or `etype`, the shape of a row: the tensor has one row for each node or edge of
        the type. name: None for a generated name. init: "zeros", "constant" (init_values: the value), "uniform" (low,
        high), "normal" (mean, standard deviation) or "xavier_uniform" (gain); random values depend on `seed` and the
        ids of the input graph, not on the partitioning. persistent: whether the rows are kept until `drop` or the end
        of the job, instead of only for the lifetime of this object. AlreadyExists: a tensor with this name has another
        shape or dtype.
        """
        if name is not None and not isinstance(name, str):
            raise InvalidArgument(f"a tensor's name must be a string, not {name!r}")
        shape = tuple(to_int(size, "a size of the shape") for size in (shape if np.ndim(shape) else (shape,)))
        if ntype is not None:
            of, number, rows, row_shape = "nodes", g._schema.node_type(ntype), 0, shape
        elif etype is not None:
            of, number, rows, row_shape = "edges", g._schema.edge_type(etype), 0, shape
        else:
            if not shape:
                raise InvalidArgument("the shape of a tensor begins with its number of rows")
            of, number, rows, row_shape = "own", 0, shape[0], shape[1:]
        core = _core.create_tensor(g._core, of, number, rows, list(row_shape), np.dtype(dtype).name, name or "", init,
                                   [float(value) for value in init_values], to_int(seed, "seed"), persistent)
        return cls(g, core)

    @classmethod
    def open(cls, g: "DistGraph", name: str, *, ntype: str | None = None,
             etype: EdgeType | None = None) -> "DistTensor":
        """Opens a tensor that any rank has created. NotFound: no tensor has this name."""
        if ntype is not None:
            return cls(g, _core.open_tensor(g._core, "nodes", g._schema.node_type(ntype), name))
        if etype is not None:
            return cls(g, _core.open_tensor(g._core, "edges", g._schema.edge_type(etype), name))
        return cls(g, _core.open_tensor(g._core, "own", 0, name))

    @staticmethod
    def drop(g: "DistGraph", name: str, *, ntype: str | None = None, etype: EdgeType | None = None) -> None:
        """Removes the tensor with this name. No error if it does not exist."""
        if ntype is not None:
            _core.drop_tensor(g._core, "nodes", g._schema.node_type(ntype), name)
        elif etype is not None:
            _core.drop_tensor(g._core, "edges", g._schema.edge_type(etype), name)
        else:
            _core.drop_tensor(g._core, "own", 0, name)

    @property
    def name(self) -> str:
        return self._core.name

    def _key(self):
        return (*self._core.rows, self.name)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self._core.shape)

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(self._core.dtype)

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        """All rows."""
        return np.asarray(self[:], dtype=dtype)

    def __repr__(self) -> str:
        return f"DistTensor(name={self.name!r}, shape={self.shape}, dtype={self.dtype})"

    __iter__ = None  # rows are read by their ids, or all at once: tensor[:]

    def _rows(self, ids):
        if isinstance(ids, slice):
            return np.arange(*ids.indices(len(self)), dtype=np.int64)
        return to_ids(ids, "rows")

    def __getitem__(self, ids: Ids | slice) -> np.ndarray:
        return self._core.read(self._graph._core, self._rows(ids), None)

    def __setitem__(self, ids: Ids | slice, values: Values) -> None:
        rows = self._rows(ids)
        shape = (len(rows),) + self.shape[1:]
        self._core.write(self._graph._core, rows, _values(values, self.dtype, shape), None)

    def _accumulate(self, write, ids, values):
        rows = self._rows(ids)
        write(self._graph._core, rows, _values(values, self.dtype, (len(rows),) + self.shape[1:]), None)

    def add(self, ids: Ids, values: Values) -> None:
        """Adds values to rows. ids may repeat."""
        self._accumulate(self._core.add, ids, values)

    def minimum(self, ids: Ids, values: Values) -> None:
        """Replaces each value of the rows by the smaller of it and the value in `values`."""
        self._accumulate(self._core.min_rows, ids, values)

    def maximum(self, ids: Ids, values: Values) -> None:
        """Replaces each value of the rows by the larger of it and the value in `values`."""
        self._accumulate(self._core.max_rows, ids, values)

    def logical_or(self, other: "DistTensor") -> None:
        """Replaces each row by its bitwise OR with the row of `other`: the union of two masks."""
        self._core.logical_or(self._graph._core, other._core, None)

    def count_nonzero(self) -> int:
        return self._core.count_nonzero(self._graph._core, None)

    def sum(self) -> np.ndarray:
        """Returns the sum of all rows: float64, int64 or uint64 [row shape...]. The sum is bitwise equal for every
        partitioning."""
        return self._core.sum(self._graph._core, None)

    def min(self) -> np.ndarray:
        return self._core.min(self._graph._core, None)

    def max(self) -> np.ndarray:
        return self._core.max(self._graph._core, None)

    def mean(self) -> np.ndarray:
        return self._core.mean(self._graph._core, None)


class Column:
    """A read-only column of the nodes or edges of one type. `column[ids]` reads rows."""

    def __init__(self, name: str, shape: Iterable[int], dtype: npt.DTypeLike,
                 read: Callable[[np.ndarray], np.ndarray]) -> None:
        self.name, self.dtype = name, np.dtype(dtype)
        self.shape: tuple[int, ...] = tuple(shape)
        self._read = read

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, ids: Ids | slice) -> np.ndarray:
        if isinstance(ids, slice):
            ids = np.arange(*ids.indices(len(self)), dtype=np.int64)
        return self._read(to_ids(ids))

    __iter__ = None

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        """All rows, in the order of global ids."""
        return np.asarray(self[:], dtype=dtype)

    def __repr__(self) -> str:
        return f"Column(name={self.name!r}, shape={self.shape}, dtype={self.dtype})"
