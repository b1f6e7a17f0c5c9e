"""Computes the outputs of a model for all nodes, layer by layer."""

import contextlib
import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from espalier.dataloading import DistNodeDataLoader, MultiLayerFullNeighborSampler
from espalier.errors import InvalidArgument
from espalier.splits import node_split
from espalier.tensor import DistTensor
from espalier.typing import Columns

if TYPE_CHECKING:
    from espalier.distributed import ProcessGroup
    from espalier.graph import DistGraph

_numbers = itertools.count()  # all ranks call infer equally often, so its tensors have the same names on all of them


def infer(model: Any, g: "DistGraph", features: Columns, group: "ProcessGroup | None" = None, *, hidden: bool = False,
          batch_size: int = 1024, num_threads: int = 1) -> Any:
    """Returns the outputs of a model for every node with its full neighborhood: {node type: DistTensor float32 [nodes,
    outputs]}, or only the DistTensor for a graph with one node type. Requires torch. Counterpart of the `inference`
    functions of DGL's examples.

    The rows of a layer are computed for all nodes and stored in a DistTensor before the next layer reads them, so each
    node is computed once per layer. The ranks divide the nodes; all ranks must call this function with their process
    group.

    model: a model of espalier.nn.models, or a torch module with `num_layers`, `output_width(layer)` and `layer(layer,
    block, rows, keys, degrees)`. `layer` takes and returns {node type: rows}; degrees are the result of degrees_of for
    the block's nodes, or None unless the model has `needs_degrees`. The model is in evaluation mode during the call,
    and computes on the device of its parameters. features: the columns that the first layer reads: a name, a list of
    names, or {node type: names}. hidden: whether to return (outputs, embeddings); embeddings are the inputs of the last
    layer, in the same form as outputs. `write_embeddings` and `write_predictions` write the results to files;
    `write_edge_predictions` writes the results of a function of both endpoints of edges.
    """
    if hidden and model.num_layers < 2:
        raise InvalidArgument("a model of one layer has no hidden activations: hidden needs a second layer")
    if group is None and g._core.world_size > 1:
        raise InvalidArgument("a job of several ranks needs its process group: infer(model, g, features, group)")
    if not isinstance(features, Mapping):
        features = {g.ntypes[g._schema.node_type()]: features}
    rows_of = {ntype: _reader([g.nodes[ntype].data[name] for name in ([names] if isinstance(names, str) else names)])
               for ntype, names in features.items() if names}
    number, embeddings = next(_numbers), None
    for layer in range(model.num_layers):
        written = _run_layer(model, g, layer, f"infer-{number}-{layer}", rows_of, batch_size, num_threads)
        if group is not None:
            group.barrier()
        rows_of = {ntype: tensor.__getitem__ for ntype, tensor in written.items()}
        if hidden and layer + 2 == model.num_layers:
            embeddings = written
    return (_by_type(g, written), _by_type(g, embeddings)) if hidden else _by_type(g, written)


def _by_type(g, tensors):
    return tensors if len(g.ntypes) > 1 else next(iter(tensors.values()))


def _reader(columns):
    """Returns a function from ids to the concatenated columns: float32 [n, total width]."""
    widths = [int(np.prod(column.shape[1:])) for column in columns]
    return lambda ids: np.concatenate([column[ids].reshape(len(ids), width).astype(np.float32)
                                       for column, width in zip(columns, widths)], axis=1)


def _run_layer(model, g, layer, tensor_name, rows_of, batch_size, num_threads):
    """Returns {node type: DistTensor} with the rows of a layer. On return, the rows of this rank's nodes are stored."""
    import torch

    from espalier.nn.models import degrees_of

    numbers = getattr(model, "_written_types", None)
    device = next((parameter.device for parameter in model.parameters()), torch.device("cpu"))
    names = g.ntypes if numbers is None else [g.ntypes[number] for number in sorted(numbers[layer])]
    written = {name: DistTensor.create(g, (model.output_width(layer),), name=tensor_name, ntype=name)
               for name in names}
    for name, tensor in written.items():
        share = node_split(np.arange(g.num_nodes(name)), g, ntype=name, local=True)
        loader = DistNodeDataLoader(g, {name: share}, MultiLayerFullNeighborSampler(1), batch_size=batch_size,
                                    shuffle=False, num_threads=num_threads,
                                    device=None if device.type == "cpu" else device)
        for batch in loader:
            rows = {ntype: torch.from_numpy(rows_of[ntype](ids)).to(device)
                    for ntype, ids in batch._host_inputs().items() if ntype in rows_of}
            with _evaluating(model), torch.no_grad():
                degrees = degrees_of(g, batch) if getattr(model, "needs_degrees", False) else None
                found = model.layer(layer, batch.blocks[0], rows, None, degrees)
            seeds = batch.output_nodes[name] if isinstance(batch.output_nodes, dict) else batch.output_nodes
            tensor[seeds] = found[name].cpu().numpy()
    return written


@contextlib.contextmanager
def _evaluating(model):
    before = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(before)
