"""Writes embeddings and predictions of nodes to files by ids of the input graph, in the format of trainers
(docs/outputs.md). edge_outputs.py writes predictions of edges.

    outputs, hidden = ep.infer(model, g, "node-feat", group, hidden=True)
    ep.write_embeddings(g, hidden, group)
    ep.write_predictions(g, outputs, group)

The files are written to the job's outputs (ESPALIER_OUTPUT), or to the folder or s3:// URI `uri`: the arrays to
`results/<incarnation>/`, and `manifest.json`, which lists them. `espalier.Results`, `espalier inspect`, `espalier
verify` and `kubectl espalier fetch` read them.

All ranks must call these functions, after a barrier by which all rows have been stored. Rank 0 writes in pieces of
bounded size, and its errors are raised on all ranks. If an object store does not respond, Ctrl-C ends a call only after
ESPALIER_S3_PATIENCE_SECONDS.
"""

import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from espalier import _core
from espalier.embedding import DistEmbedding
from espalier.errors import InvalidArgument
from espalier.tensor import DistTensor
from espalier.types import to_ids
from espalier.typing import NodeIds, Path

if TYPE_CHECKING:
    from espalier.distributed import ProcessGroup
    from espalier.graph import DistGraph

# Large enough for the network and small for a rank's memory; the same as in the trainers.
_BYTES_PER_READ, _MOST_ROWS_PER_READ = 16 << 20, 1 << 16


def write_embeddings(g: "DistGraph", embeddings: DistTensor | DistEmbedding | Mapping[str, DistTensor | DistEmbedding],
                     group: "ProcessGroup | None" = None, *, uri: Path | None = None, nodes: NodeIds | None = None,
                     attributes: Mapping[str, str] | None = None) -> None:
    """Writes rows of nodes as `embeddings/<node type>/{ids,values}.npy`. Counterpart of `spec.output.save: [Embeddings]`.

    embeddings: a DistTensor or DistEmbedding of nodes, or {node type: either}. Rows are written in the tensor's dtype.
    nodes: distinct ids of the input graph, or {node type: ids}; rows are written in this order, and types without an
    entry are skipped. None: all nodes, in the order of their ids. uri: None: ESPALIER_OUTPUT. attributes: {str: str}
    for `embeddings/manifest.json`. Outputs of other kinds that the same incarnation of the job has written are kept.
    FailedPrecondition: a newer incarnation has committed outputs there.
    """
    rows_of = _by_type(g, embeddings)
    _write(g, group, uri, rows_of, nodes, attributes, {"embeddings": _as_they_are})


def write_predictions(g: "DistGraph", outputs: DistTensor | Mapping[str, DistTensor],
                      group: "ProcessGroup | None" = None, *, task: str = "classification", uri: Path | None = None,
                      nodes: NodeIds | None = None, attributes: Mapping[str, str] | None = None) -> None:
    """Writes predictions, computed from a model's outputs, as `predictions/<node type>/{ids,values}.npy`. Writes the
    outputs as `logits/` unless they are equal to the predictions. Counterpart of `spec.output.save: [Predictions]`.

    outputs: float32 [nodes, C]: a DistTensor, as `infer` returns it, or {node type: DistTensor}. task: "classification":
    the class of the largest output, int64 [n]; "multilabel": 1 for each class whose output is positive, uint8 [n, C];
    "regression": the outputs. Other arguments are those of write_embeddings.
    """
    check_task(task)
    rows_of = _by_type(g, outputs)
    for name, tensor in rows_of.items():
        if len(tensor.shape) != 2 or tensor.shape[1] == 0 or tensor.dtype != np.float32:
            raise InvalidArgument(f"outputs of {name!r} are {tensor.dtype} {list(tensor.shape)}; expected float32 "
                                  "[nodes, classes or targets] with at least one column")
    _write(g, group, uri, rows_of, nodes, attributes, kinds_of(task))


def _as_they_are(rows):
    return rows


_DECISIONS = {"classification": lambda rows: rows.argmax(axis=1).astype(np.int64),
              "multilabel": lambda rows: (rows > 0).astype(np.uint8), "regression": _as_they_are}


def check_task(task):
    if task not in _DECISIONS:
        raise InvalidArgument(f"task must be {', '.join(map(repr, _DECISIONS))}, not {task!r}")


def kinds_of(task):
    """Returns {kind: function from outputs to the values to write}; None for a kind that is removed."""
    return {"predictions": _DECISIONS[task], "logits": None if task == "regression" else _as_they_are}


def _by_type(g, values):
    """Returns {node type: _Rows}, in the order of the graph's node types."""
    given = list(values.items()) if isinstance(values, Mapping) else [(None, values)]
    found = {}
    for name, tensor in given:
        if not isinstance(tensor, (DistTensor, DistEmbedding)):
            raise InvalidArgument(f"rows to write are a DistTensor or a DistEmbedding, not {type(tensor).__name__}")
        of, number = tensor._core.rows if isinstance(tensor, DistTensor) else tensor._rows[:2]
        if of != "nodes":
            raise InvalidArgument(f"the rows of {tensor.name!r} are not of nodes")
        ntype = g.ntypes[number]
        if name not in (None, ntype):
            raise InvalidArgument(f"{tensor.name!r} has rows of {ntype!r}, not of {name!r}")
        found[ntype] = _Rows(g, ntype, tensor)
    if not found:
        raise InvalidArgument("there are no rows to write")
    return {name: found[name] for name in g.ntypes if name in found}


class _Rows:
    def __init__(self, g, ntype, tensor):
        self._tensor = tensor
        if isinstance(tensor, DistEmbedding):
            tensor.await_steps()  # steps of this rank; a barrier follows before rank 0 reads
            self.dtype, self.shape = np.dtype(np.float32), (g.num_nodes(ntype), tensor.embedding_dim)
        else:
            self.dtype, self.shape = tensor.dtype, tensor.shape

    def __getitem__(self, ids):
        return self._tensor[ids]


def _write(g, group, uri, rows_of, nodes, attributes, kinds):
    """kinds: the result of kinds_of."""
    uri = place_of(g, group, uri)
    wanted = _wanted(g, rows_of, nodes)
    run_on_rank_0(g, group, lambda: _steps(g, uri, rows_of, wanted, attributes, kinds))


def place_of(g, group, uri):
    """Returns the location of the outputs: a folder or an s3:// URI."""
    if group is None and g.world_size > 1:
        raise InvalidArgument("a job of several ranks needs its process group: the argument `group`")
    uri = os.environ.get("ESPALIER_OUTPUT") if uri is None else os.fspath(uri)
    if not uri:
        raise InvalidArgument("name a place for the outputs: uri=, a folder or an s3:// URI (no job has set ESPALIER_OUTPUT)")
    return uri


def open_writer(g, uri, kinds, attributes):
    """Returns rank 0's writer of outputs. Removes earlier outputs of these kinds from the manifest."""
    job = os.environ.get("ESPALIER_JOB_NAME", "")
    attributes = {"graph": g.name, **({"job": job} if job else {}), **(attributes or {})}
    return _core.open_outputs(g._core, uri, list(kinds), attributes, dict(os.environ))


def commit(g, writer):
    job = os.environ.get("ESPALIER_JOB_NAME", "")
    facts = {**({"name": job} if job else {}), "graph": g.name}
    writer.commit(json.dumps(facts, indent=2, ensure_ascii=False) + "\n")


def _wanted(g, rows_of, nodes):
    """Returns {node type: ids of the input graph to write, or None for all}."""
    if nodes is None:
        return dict.fromkeys(rows_of)
    if not isinstance(nodes, Mapping):
        if len(rows_of) > 1:
            raise InvalidArgument(f"rows are of {', '.join(rows_of)}: nodes must be {{node type: ids}}")
        nodes = {next(iter(rows_of)): nodes}
    wanted = {}
    for name, ids in nodes.items():
        if name not in rows_of:
            raise InvalidArgument(f"nodes of {name!r} have no rows; there are rows of {', '.join(rows_of)}")
        wanted[name] = ids = to_ids(ids, f"nodes of {name!r}")
        count = g.num_nodes(name)
        for row in np.flatnonzero((ids < 0) | (ids >= count))[:1]:
            raise InvalidArgument(f"id {ids[row]} at row {row} of the nodes of {name!r}: the node type has ids 0 to "
                                  f"{count} - 1")
        distinct, counts = np.unique(ids, return_counts=True)
        for twice in distinct[counts > 1][:1]:
            raise InvalidArgument(f"id {twice} is given twice among the nodes of {name!r}")
    return {name: wanted[name] for name in rows_of if name in wanted}


def _steps(g, uri, rows_of, wanted, attributes, kinds):
    """A generator that writes one piece per iteration."""
    writer = open_writer(g, uri, kinds, attributes)
    kinds = {kind: to_values for kind, to_values in kinds.items() if to_values is not None}
    yield
    for name, ids in wanted.items():
        rows, count = rows_of[name], g.num_nodes(name) if ids is None else len(ids)
        example = np.zeros((1, *rows.shape[1:]), rows.dtype)
        for kind, to_values in kinds.items():
            values = to_values(example)
            writer.begin(kind, name, count, values.dtype.name, list(values.shape[1:]))
        step = max(1, min(_BYTES_PER_READ // max(1, example.nbytes), _MOST_ROWS_PER_READ))
        for first in range(0, count, step):
            piece = np.arange(first, min(first + step, count)) if ids is None else ids[first:first + step]
            read = rows[g.to_global_ids(piece, name)]
            for kind, to_values in kinds.items():
                writer.append(kind, piece, np.ascontiguousarray(to_values(read)))
            yield
    commit(g, writer)


def run_on_rank_0(g, group, make_steps):
    """Runs all steps of make_steps() on rank 0. A barrier follows each step, so that no rank waits for longer than one
    step."""
    steps = make_steps() if g.rank() == 0 else iter(())
    if group is None or group.size == 1:
        for _ in steps:
            pass
        return
    has_more = np.ones(1, np.uint8)
    while has_more[0]:
        error = None
        if group.rank == 0:
            try:
                has_more[0] = next(steps, steps) is not steps
            except Exception as its_error:
                error = its_error
        group.agree(error)
        group.broadcast(has_more)
