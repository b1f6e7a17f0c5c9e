"""Writes predictions of edges to files, with the ids of their endpoints in the input graph, in the format of trainers
(docs/outputs.md).

    outputs = ep.infer(model, g, "node-feat", group)

    def scores(sources, destinations):
        return (outputs[sources] * outputs[destinations]).sum(axis=1)

    ep.write_edge_predictions(g, ep.EdgesOfSplit("links", "test"), scores, group, task="regression")

Rank 0 writes the edges in their order and in pieces of bounded size, as outputs.py does for nodes. A piece has one row
for each edge: the original ids of its source and destination, and the values computed from its outputs.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from espalier.dataloading import EdgesOfSplit
from espalier.errors import InvalidArgument
from espalier.outputs import check_task, commit, kinds_of, open_writer, place_of, run_on_rank_0
from espalier.tensor import DistTensor
from espalier.types import to_ids
from espalier.typing import EdgeType, Ids, Path, Values

if TYPE_CHECKING:
    from espalier.distributed import ProcessGroup
    from espalier.graph import DistGraph

# A function of outputs may read wide rows of both endpoints.
_EDGES_PER_PIECE = 1 << 14


def write_edge_predictions(g: "DistGraph", edges: EdgesOfSplit | Mapping[str, EdgesOfSplit | Ids | tuple[Ids, Ids]],
                           outputs: (Callable[[np.ndarray, np.ndarray], Values] | Values
                                     | Mapping[str, Callable[[np.ndarray, np.ndarray], Values] | Values]),
                           group: "ProcessGroup | None" = None, *, task: str = "classification",
                           etype: EdgeType | None = None, uri: Path | None = None,
                           attributes: Mapping[str, str] | None = None) -> None:
    """Writes predictions of edges, computed from a model's outputs, as
    `predictions/<part>/{sources,destinations,values}.npy`. Writes the outputs as `logits/` unless they are equal to the
    predictions. Sources and destinations are ids of the input graph. Counterpart of `spec.output.save: [Predictions]`
    for a task on edges.

    edges: one part of a split, whose name becomes the folder's, or {part: edges} with any part names. edges are an
    EdgesOfSplit, edge ids, or a tuple (sources, destinations) of global node ids; these pairs need not be edges of the
    graph. Rows are written in this order. etype: the edge type of all edges; None: that of the EdgesOfSplit, or the
    only edge type.

    outputs: float32 [edges, C], or [edges] for task "regression", in one of three forms. A function takes (sources,
    destinations), global ids, int64 [n] each, and returns their outputs; rank 0 calls it for pieces of the edges. A
    DistTensor of the edges of etype is for edges that are given by ids. An array, or a DistTensor without a type, has
    one row for each edge in the order of `edges`. {part: outputs} has one of these for each part. The outputs of rank 0
    are written.

    task: "classification", "multilabel" or "regression", as in write_predictions; "regression" also for scores of
    links. uri, attributes: as in write_embeddings. Replaces the kinds "predictions" and "logits" of nodes. All ranks
    must call this function, after a barrier by which all outputs have been stored. An error of rank 0 is raised on all
    ranks.
    """
    check_task(task)
    uri = place_of(g, group, uri)
    run_on_rank_0(g, group, lambda: _steps(g, uri, edges, outputs, etype, task, attributes))


def _to_array(values):
    """Returns numbers as an array, including a tensor of torch with a gradient or on a device."""
    return np.asarray(values.detach().cpu() if hasattr(values, "detach") else values)


class _Part:
    """The edges of one part, and their outputs."""

    def __init__(self, g, name, number, edges, outputs):
        etype = g._schema.edge_types[number]
        self.name, self._ids = name, None
        if isinstance(edges, EdgesOfSplit):
            ends = g.split_edges(edges.split, edges.part, etype)
        elif isinstance(edges, tuple):
            if len(edges) != 2:
                raise InvalidArgument(f"edges of {name!r} are a tuple of {len(edges)}; expected (sources, destinations)")
            ends = [to_ids(ids, f"{end} of {name!r}") for ids, end in zip(edges, ("sources", "destinations"))]
        else:
            self._ids = to_ids(edges, f"edges of {name!r}")
            ends = g.find_edges(self._ids, etype)
        self._sources, self._destinations = ends
        if len(self._sources) != len(self._destinations):
            raise InvalidArgument(f"{len(self._sources)} sources and {len(self._destinations)} destinations of {name!r}")
        self._outputs = self._reader(number, outputs)

    def __len__(self):
        return len(self._sources)

    def _reader(self, number, outputs):
        """Returns a function from a slice of the edges to their outputs."""
        if callable(outputs):
            return lambda piece: outputs(self._sources[piece], self._destinations[piece])
        of, of_type = outputs._core.rows if isinstance(outputs, DistTensor) else (None, None)
        if of == "nodes":
            raise InvalidArgument(f"{outputs.name!r} has rows of nodes; a function can compute those of edges from them")
        if of == "edges":
            if of_type != number:
                raise InvalidArgument(f"{outputs.name!r} has rows of another edge type than {self.name!r}")
            if self._ids is None:
                raise InvalidArgument(f"{outputs.name!r} has a row for each edge, and edges of {self.name!r} are not "
                                      "given by their ids; give ids, or a function of the edges' ends")
            return lambda piece: outputs[self._ids[piece]]
        rows = outputs if of is not None else _to_array(outputs)
        if not rows.shape or rows.shape[0] != len(self):
            raise InvalidArgument(f"outputs of {self.name!r} have shape {list(rows.shape)}; expected a row for each of "
                                  f"{len(self)} edges")
        return lambda piece: rows[np.arange(piece.start, piece.stop)]

    def read(self, piece, task):
        """Returns (sources, destinations, outputs) of a slice: int64 [n] twice, and float32 [n, C] or [n]."""
        rows = _to_array(self._outputs(piece))
        count = piece.stop - piece.start
        fits = rows.shape[:1] == (count,) and (rows.ndim == 2 and rows.shape[1] > 0
                                               or rows.ndim == 1 and task == "regression")
        if not fits or not np.issubdtype(rows.dtype, np.floating):
            raise InvalidArgument(f"outputs of {self.name!r} are {rows.dtype} {list(rows.shape)} for {count} edges; "
                                  f"expected floats [edges, classes or targets]{', or [edges]' * (task == 'regression')}")
        return self._sources[piece], self._destinations[piece], rows.astype(np.float32, copy=False)


def _parts(g, edges, outputs, etype):
    """Returns (number of the edge type, the split of all edges or "", parts)."""
    given = {edges.part: edges} if isinstance(edges, EdgesOfSplit) else edges
    if not isinstance(given, Mapping) or not given:
        raise InvalidArgument("edges must be an EdgesOfSplit, or {part: edges} with at least one part")
    of_splits = [part for part in given.values() if isinstance(part, EdgesOfSplit)]
    numbers = {g._schema.edge_type(part.only_type(g)) for part in of_splits if part.etypes}
    numbers |= {g._schema.edge_type(etype)} if etype is not None or not numbers else set()
    splits = {part.split for part in of_splits}
    for what, found in ("edge type", numbers), ("split", splits):
        if len(found) > 1:
            raise InvalidArgument(f"edges of more than one {what}; write each with a call and a place of its own")
    number, = numbers
    by_part = outputs if isinstance(outputs, Mapping) else dict.fromkeys(given, outputs)
    if by_part.keys() != given.keys():
        raise InvalidArgument(f"outputs are of {', '.join(map(repr, by_part))}, and edges of "
                              f"{', '.join(map(repr, given))}")
    split = of_splits[0].split if len(of_splits) == len(given) else ""
    return number, split, [_Part(g, name, number, part, by_part[name]) for name, part in given.items()]


def _steps(g, uri, edges, outputs, etype, task, attributes):
    """A generator that writes one piece per iteration."""
    number, split, parts = _parts(g, edges, outputs, etype)
    kinds = kinds_of(task)
    writer = open_writer(g, uri, kinds, attributes)
    kinds = {kind: to_values for kind, to_values in kinds.items() if to_values is not None}
    names = g._schema.edge_types[number]
    yield
    for part in parts:
        for first in range(0, max(1, len(part)), _EDGES_PER_PIECE):
            sources, destinations, rows = part.read(slice(first, min(first + _EDGES_PER_PIECE, len(part))), task)
            ends = g.to_original_ids(sources, names[0]), g.to_original_ids(destinations, names[2])
            for kind, to_values in kinds.items():
                values = np.ascontiguousarray(to_values(rows))
                if first == 0:
                    writer.begin_edges(kind, ":".join(names), split, part.name, len(part), values.dtype.name,
                                       list(values.shape[1:]))
                writer.append_edges(kind, *ends, values)
            yield
    commit(g, writer)
