"""Embeddings and predictions of nodes in files, under the ids of the input graph, as a job of trainers writes them
(docs/outputs.md). edge_outputs.py writes predictions of edges.

    outputs, hidden = ep.infer(model, g, "node-feat", group, hidden=True)
    ep.write_embeddings(g, hidden, group)
    ep.write_predictions(g, outputs, group)

They go to the job's outputs (ESPALIER_OUTPUT), or to the folder or s3:// URI of the argument `uri`: `results/<incarnation>/`
with the arrays, and `manifest.json`, which names them. `espalier.Results`, `espalier inspect` and `espalier verify`, and
`kubectl espalier fetch` read them.

All ranks call these functions together, after their rows are there (a barrier); rank 0 writes, a bounded piece at a time,
and an error of it is raised on all ranks. On an object store that does not answer, Ctrl-C ends a call when the store's
patience (ESPALIER_S3_PATIENCE_SECONDS) is over.
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

# Enough for the network, little for a rank's memory; as the trainers.
_BYTES_PER_READ, _MOST_ROWS_PER_READ = 16 << 20, 1 << 16


def write_embeddings(g: "DistGraph", embeddings: DistTensor | DistEmbedding | Mapping[str, DistTensor | DistEmbedding],
                     group: "ProcessGroup | None" = None, *, uri: Path | None = None, nodes: NodeIds | None = None,
                     attributes: Mapping[str, str] | None = None) -> None:
    """Writes rows of nodes as `embeddings/<node type>/{ids,values}.npy`. Counterpart of `spec.output.save: [Embeddings]`.

    embeddings: a DistTensor or DistEmbedding of nodes, or {node type: either}; rows [d...] of the tensor's dtype. nodes:
    ids of the input graph, distinct, whose rows are written in this order, or {node type: ids}; types without an entry
    are left out. None: all nodes, in the order of their ids. uri: None: ESPALIER_OUTPUT. attributes: {str: str} for
    `embeddings/manifest.json`. What the same incarnation of the job has written there of other kinds stays.
    FailedPrecondition: a newer incarnation has committed its outputs there.
    """
    rows_of = _by_type(g, embeddings)
    _write(g, group, uri, rows_of, nodes, attributes, {"embeddings": _as_they_are})


def write_predictions(g: "DistGraph", outputs: DistTensor | Mapping[str, DistTensor],
                      group: "ProcessGroup | None" = None, *, task: str = "classification", uri: Path | None = None,
                      nodes: NodeIds | None = None, attributes: Mapping[str, str] | None = None) -> None:
    """Writes what a model's outputs decide as `predictions/<node type>/{ids,values}.npy`, and the outputs themselves as
    `logits/` unless they are the decisions. Counterpart of `spec.output.save: [Predictions]`.

    outputs: float32 [nodes, C]: a DistTensor, as `infer` returns it, or {node type: DistTensor}. task: "classification":
    the class of the largest output, int64 [n]; "multilabel": 1 for each class whose output is positive, uint8 [n, C];
    "regression": the outputs. Other arguments as of write_embeddings.
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
    """Returns {kind: function from outputs to what is written}; of None nothing is there afterwards."""
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
            tensor.await_steps()  # of this rank; the ranks meet before rank 0 reads
            self.dtype, self.shape = np.dtype(np.float32), (g.num_nodes(ntype), tensor.embedding_dim)
        else:
            self.dtype, self.shape = tensor.dtype, tensor.shape

    def __getitem__(self, ids):
        return self._tensor[ids]


def _write(g, group, uri, rows_of, nodes, attributes, kinds):
    """kinds: as of kinds_of."""
    uri = place_of(g, group, uri)
    wanted = _wanted(g, rows_of, nodes)
    run_on_rank_0(g, group, lambda: _steps(g, uri, rows_of, wanted, attributes, kinds))


def place_of(g, group, uri):
    """Returns the place of the outputs: a folder or an s3:// URI."""
    if group is None and g.world_size > 1:
        raise InvalidArgument("a job of several ranks needs its process group: the argument `group`")
    uri = os.environ.get("ESPALIER_OUTPUT") if uri is None else os.fspath(uri)
    if not uri:
        raise InvalidArgument("name a place for the outputs: uri=, a folder or an s3:// URI (no job has set ESPALIER_OUTPUT)")
    return uri


def open_writer(g, uri, kinds, attributes):
    """Returns the writer of outputs, of rank 0; what stands there of these kinds is taken out of the manifest."""
    job = os.environ.get("ESPALIER_JOB_NAME", "")
    attributes = {"graph": g.name, **({"job": job} if job else {}), **(attributes or {})}
    return _core.open_outputs(g._core, uri, list(kinds), attributes, dict(os.environ))


def commit(g, writer):
    job = os.environ.get("ESPALIER_JOB_NAME", "")
    facts = {**({"name": job} if job else {}), "graph": g.name}
    writer.commit(json.dumps(facts, indent=2, ensure_ascii=False) + "\n")


def _wanted(g, rows_of, nodes):
    """Returns {node type: ids of the input graph} of what is written; None in the place of all ids."""
    if nodes is None:
        return dict.fromkeys(rows_of)
    if not isinstance(nodes, Mapping):
        if len(rows_of) > 1:
            raise InvalidArgument(f"rows are of {', '.join(rows_of)}: nodes must be {{node type: ids}}")
        nodes = {next(iter(rows_of)): nodes}
    wanted = {}
    for name, ids in nodes.items():
        if name not in rows_of:
            raise InvalidArgument(f"nodes of {name!r} are asked for; there are rows of {', '.join(rows_of)}")
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
    """Writes a piece each time that it is resumed."""
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
    """Runs the steps that make_steps() returns on rank 0, to their end. After each step the ranks meet, so that no rank
    waits longer than for one."""
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
