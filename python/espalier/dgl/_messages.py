"""Columns of nodes and edges, and message passing, in the small graphs of a mini-batch."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from espalier.dgl._absent import Remedies, refuse
from espalier.dgl.function import Message, Reduction
from espalier.typing import EdgeType

if TYPE_CHECKING:
    import torch


class Frame(dict):
    """The columns of a type: {name: tensor}."""


class _View:
    """The result of `graph.nodes["paper"]`, with `data`."""

    def __init__(self, find):
        self._find = find

    def __getitem__(self, name: Any) -> "_Type":
        return _Type(self._find(name))


class _Type:
    def __init__(self, data: Frame) -> None:
        self.data = data


class TypedFrames:
    """Columns of all types. `frames["h"]` is the column of the only type, or {type: tensor} if there are several."""

    def __init__(self, frames: dict[Any, Frame]) -> None:
        self._frames = frames  # {type: Frame}

    def _only(self):
        return next(iter(self._frames.values())) if len(self._frames) == 1 else None

    def __getitem__(self, name: str) -> Any:
        if (only := self._only()) is not None:
            return only[name]
        found = {key: frame[name] for key, frame in self._frames.items() if name in frame}
        if not found:
            raise KeyError(name)
        return found

    def __setitem__(self, name: str, values: Any) -> None:
        if (only := self._only()) is not None and not isinstance(values, dict):
            only[name] = values
            return
        for key, rows in values.items():
            self._frames[key][name] = rows

    def __delitem__(self, name: str) -> None:
        self.pop(name)

    def pop(self, name: str) -> Any:
        values = self[name]
        for frame in self._frames.values():
            frame.pop(name, None)
        return values

    def update(self, columns: Mapping[str, Any]) -> None:
        for name, values in columns.items():
            self[name] = values

    def __contains__(self, name: str) -> bool:
        return any(name in frame for frame in self._frames.values())

    def keys(self) -> list[str]:
        return sorted({name for frame in self._frames.values() for name in frame})

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())


class EdgeBatch:
    """The edges for a function of `apply_edges`, with the columns `src`, `dst` and `data`."""

    def __init__(self, graph: "MessagePassing", etype: tuple[str, str, str]) -> None:
        self.canonical_etype = etype
        sources, destinations = graph.edges(etype=etype)
        self.src = _Gathered(graph._source_frame(etype), sources)
        self.dst = _Gathered(graph._destination_frame(etype), destinations)
        self.data = graph._edge_frame(etype)


class _Gathered:
    def __init__(self, frame, rows):
        self._frame, self._rows = frame, rows

    def __getitem__(self, name: str) -> "torch.Tensor":
        return self._frame[name][self._rows]


def _message(function, edges):
    """Returns {out: values of all edges} for a function of function.py, or a function of an EdgeBatch."""
    if not isinstance(function, Message):
        return function(edges)
    of = {"u": edges.src, "v": edges.dst, "e": edges.data}
    left = of[function.left][function.left_column]
    if function.operation == "copy":
        return {function.out: left}
    right = of[function.right][function.right_column]
    if function.operation == "dot":
        return {function.out: (left * right).sum(-1, keepdim=True)}
    left, right = _same_rank(left, right)
    operation = {"add": left.add, "sub": left.sub, "mul": left.mul, "div": left.div}[function.operation]
    return {function.out: operation(right)}


def _same_rank(left, right):
    """Adds dimensions to the side with fewer, so that its values are broadcast over the other side's."""
    while left.dim() < right.dim():
        left = left.unsqueeze(-1)
    while right.dim() < left.dim():
        right = right.unsqueeze(-1)
    return left, right


def _reduce(reduction, messages, destinations, num_rows):
    import torch

    shape = (num_rows, *messages.shape[1:])
    if reduction.operation in ("sum", "mean"):
        values = torch.zeros(shape, dtype=messages.dtype, device=messages.device).index_add(0, destinations, messages)
        if reduction.operation == "sum":
            return values
        degrees = torch.bincount(destinations, minlength=num_rows).clamp(min=1).to(messages.dtype)
        return values / degrees.view(-1, *[1] * (values.dim() - 1))
    index = destinations.view(-1, *[1] * (messages.dim() - 1)).expand_as(messages)
    values = torch.zeros(shape, dtype=messages.dtype, device=messages.device)
    return values.scatter_reduce(0, index, messages, "amax" if reduction.operation == "max" else "amin",
                                 include_self=False)


class MessagePassing(Remedies):
    """Base of graphs with `edges`, `canonical_etypes`, frames of types and `_schema`. Counterpart of DGLGraph's
    functions for message passing."""

    def _all_frames(self):
        raise NotImplementedError

    def _etype(self, etype):
        return self._schema.edge_types[self._schema.edge_type(etype)]

    def apply_edges(self, func: "Message | Callable[[EdgeBatch], Mapping[str, torch.Tensor]]", edges: str = "__ALL__",
                    etype: EdgeType | None = None) -> None:
        """Sets columns of edges. func: a function of espalier.dgl.function, or a function from edges (`src`, `dst`,
        `data`) to {column: values}."""
        if not isinstance(edges, str):
            refuse("apply_edges of some edges", "apply it to all, and select the values")
        etype = self._etype(etype)
        self._edge_frame(etype).update(_message(func, EdgeBatch(self, etype)))

    def update_all(self, message_func: "Message | Callable[[EdgeBatch], Mapping[str, torch.Tensor]]",
                   reduce_func: Reduction, apply_node_func: None = None, etype: EdgeType | None = None) -> None:
        """Sets a column of destinations to a reduction of the messages of their in-edges. reduce_func: `sum`, `mean`,
        `max` or `min` of espalier.dgl.function."""
        if not isinstance(reduce_func, Reduction):
            refuse("update_all with a function that reduces", "use sum, mean, max or min of espalier.dgl.function, or "
                   "a layer of espalier.nn")
        if apply_node_func is not None:
            refuse("update_all with a function of nodes", "change the column after the call")
        etype = self._etype(etype)
        edges = EdgeBatch(self, etype)
        messages = _message(message_func, edges)[reduce_func.message]
        self._destination_frame(etype)[reduce_func.out] = _reduce(reduce_func, messages, self.edges(etype=etype)[1],
                                                                  self._num_destinations(etype))

    @contextlib.contextmanager
    def local_scope(self) -> Iterator[None]:
        """A context manager that removes the columns set inside it at its end."""
        kept = [(frame, dict(frame)) for frame in self._all_frames()]
        try:
            yield
        finally:
            for frame, columns in kept:
                frame.clear()
                frame.update(columns)
