"""The models of the C++ trainer: GraphSAGE, GCN, GAT, GATv2 and R-GCN, with its formulas, masks and parameter files.

    model = ep.nn.models.GraphSAGE(g, 1433, hidden_size=64, num_outputs=7, dropout=0.5)
    logits = model(batch.blocks, x, ep.nn.StepKeys(g, batch, seed=1))
    model.save("mine.safetensors", features="node-feat")  # spec.training.model.uri of a job

    model = ep.nn.load_model(g, "runs/cora/model/best.safetensors")  # what a job has written

docs/models.md describes them. On a graph with one node type and one edge type, GCN, GAT and GATv2 add self loops. On
other graphs, and in R-GCN, a node's own row has a separate matrix, and each relation has separate parameters. GraphSAGE
treats all relations as one.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from espalier.block import Block, MiniBatch
from espalier.distributed import ProcessGroup
from espalier.errors import InvalidArgument
from espalier.graph import DistGraph
from espalier.nn import functional as F
from espalier.nn.attention import GATConv, GATv2Conv
from espalier.nn.conv import GraphConv
from espalier.nn.dropout import StepKeys
from espalier.nn.first_values import draw_first_values
from espalier.nn.hetero import by_type
from espalier.nn.model_file import read_model_file, write_model_file
from espalier.nn.model_layers import Epilogue, InputProjection, Relational, Rgcn, Sage, WrittenRows
from espalier.typing import EdgeType, Path

_NORMALIZATIONS = {None: "None", "batch": "Batch", "layer": "Layer"}


def degrees_of(g: DistGraph, batch: MiniBatch) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """Returns the argument `degrees` of GCN: {number of an edge type: (out-degrees, in-degrees)} in the whole graph,
    int64 [n] each, for the nodes that the batch reads."""
    nodes = batch._host_inputs()
    return {number: (g.out_degrees(nodes[names[0]], names), g.in_degrees(nodes[names[2]], names))
            for number, names in enumerate(g.canonical_etypes)}


class GraphModel(nn.Module):
    """Base class of the models.

    g: the DistGraph, whose node and edge types determine the parameters. in_feats: width of the features, or {node
    type: width}; a type without features gets one learned row. num_layers: must be the sampler's number of fan-outs.
    normalization: None, "batch" or "layer". dropout: probability for hidden rows, with the bits of StepKeys; GCN, GAT
    and GATv2 also drop elements of the input. relations: for each layer, the edge types that the sampler samples; None:
    all. seed_types: the node types whose outputs are computed; None: the only type. seed: initial parameters are
    bitwise equal to those of a job with this spec.training.seed; None: torch's generator draws them. group: the
    ProcessGroup whose ranks share the statistics of batch normalization, like trainers (BatchNorm); None: uses the
    statistics of this rank's rows.

    Parameters have the names and shapes of the C++ trainer: "layer0.fc_self.weight", "epilogue0.bias", "output_bias".
    """

    kind: str | None = None
    _convolution = None
    _drops_inputs = _uses_elu = _draws_normal = needs_degrees = False
    aggregator, num_bases = "mean", 0

    def __init__(self, g: DistGraph, in_feats: int | dict[str, int], hidden_size: int, num_outputs: int,
                 num_layers: int = 2, *, dropout: float = 0.0, normalization: str | None = None,
                 relations: Sequence[Iterable[EdgeType]] | None = None, seed_types: Iterable[str] | None = None,
                 seed: int | None = None, group: ProcessGroup | None = None) -> None:
        super().__init__()
        if normalization not in _NORMALIZATIONS:
            raise InvalidArgument(f"normalization must be None, 'batch' or 'layer', not {normalization!r}")
        if not 0 <= dropout < 1:
            raise InvalidArgument(f"dropout must be from 0 to below 1, not {dropout}")
        self._schema = schema = g._schema
        self.hidden_size, self.num_outputs, self.num_layers = hidden_size, num_outputs, num_layers
        self.dropout, self.normalization = dropout, normalization
        widths = self._widths(in_feats)
        self._set_types(relations, seed_types)
        projects = len(schema.node_types) > 1 or not widths[0]
        if projects:
            self.input = InputProjection(schema, widths, self._read, hidden_size)
        first = hidden_size if projects else widths[0]
        for layer in range(num_layers):
            self.add_module(f"layer{layer}", self._convolution(self, layer, hidden_size if layer else first,
                                                               self.output_width(layer)))
            if layer + 1 < num_layers:
                self.add_module(f"epilogue{layer}", Epilogue(hidden_size, normalization, self._uses_elu, group))
        self.output_bias = nn.Parameter(torch.zeros(num_outputs))
        if seed is not None:
            draw_first_values(self, seed)

    def _widths(self, in_feats):
        names = self._schema.node_types
        if not isinstance(in_feats, dict):
            in_feats = {names[self._schema.node_type()]: in_feats}
        widths = [0] * len(names)
        for name, width in in_feats.items():
            widths[self._schema.node_type(name)] = width
        return widths

    def _set_types(self, relations, seed_types):
        """Sets the relations that each layer samples and the node types that it writes. They depend only on the
        arguments, so that all ranks run the same operations for any batches."""
        schema = self._schema
        if relations is None:
            relations = [schema.edge_types] * self.num_layers
        if len(relations) != self.num_layers:
            raise InvalidArgument(f"relations for {len(relations)} layers; the model has {self.num_layers}")
        self._relations = [sorted(map(schema.edge_type, of_layer)) for of_layer in relations]
        types = [None] if seed_types is None else seed_types
        written = {schema.node_type(name) for name in types}
        self._written_types = [None] * self.num_layers
        for layer in reversed(range(self.num_layers)):
            self._written_types[layer] = written
            written = written | {schema.source_of(number) for number in self._relations[layer]
                                 if schema.destination_of(number) in written}
        self._read = [number in written for number in range(len(schema.node_types))]

    def output_width(self, layer: int) -> int:
        """Returns the width of the rows that a layer writes."""
        return self.num_outputs if layer + 1 == self.num_layers else self.hidden_size

    def forward(self, blocks: Sequence[Block], inputs: torch.Tensor | dict[str, torch.Tensor] | None,
                keys: StepKeys | None = None, degrees: Mapping[int, tuple[np.ndarray, np.ndarray]] | None = None
                ) -> torch.Tensor | dict[str, torch.Tensor]:
        """Returns the outputs of the seeds before any activation: float32 [seeds, num_outputs], or {node type: rows} if
        several types are written.

        blocks: the blocks of a batch, one for each layer. inputs: float32 [sources of the first block, in_feats], or
        {node type: rows}. keys: StepKeys; required for training with dropout. degrees: degrees_of(g, batch), for GCN.
        """
        if len(blocks) != self.num_layers:
            raise InvalidArgument(f"the batch has {len(blocks)} blocks, and the model {self.num_layers} layers")
        rows = inputs
        for layer, block in enumerate(blocks):
            rows = self.layer(layer, block, rows, keys, degrees)
        return next(iter(rows.values())) if len(rows) == 1 else rows

    def layer(self, layer: int, block: Block, rows: torch.Tensor | dict[str, torch.Tensor] | None,
              keys: StepKeys | None = None, degrees: Mapping[int, tuple[np.ndarray, np.ndarray]] | None = None
              ) -> dict[str, torch.Tensor]:
        """Returns {node type: rows} written by layer `layer`: one step of forward."""
        rows = by_type(block, {} if rows is None else rows)
        if self.training and keys is None and self._needs_keys():
            raise InvalidArgument("dropout by the trainer's bits needs StepKeys(g, batch, seed) while training")
        if layer == 0 and hasattr(self, "input"):
            rows = self.input(rows, block)
        width = self.output_width(layer - 1) if layer or hasattr(self, "input") else next(iter(rows.values())).shape[1]
        rows = {name: rows[name] if name in rows else self.output_bias.new_zeros(block.num_src_nodes(name), width)
                for name in self._schema.node_types}
        probability = self.dropout if self.training else 0
        if layer == 0 and self._drops_inputs and probability:
            rows = {name: F.drop_elements(x, probability, keys.masks([(name, len(x))])) for name, x in rows.items()}
        numbers = [number for number, name in enumerate(self._schema.node_types)
                   if number in self._written_types[layer] or block.num_dst_nodes(name)]
        written = WrittenRows(block, numbers)
        total = getattr(self, f"layer{layer}")(block, rows, written, keys=keys, degrees=degrees)
        if layer + 1 == self.num_layers:
            return written.split(total + self.output_bias)
        masks = keys.masks(zip(written.names, written.counts), layer) if probability else []
        return written.split(getattr(self, f"epilogue{layer}")(total, probability, masks))

    def _needs_keys(self):
        return self.dropout > 0

    def metadata(self) -> dict[str, str]:
        """Returns the metadata of a model file, which describe the model's structure."""
        return {"model": self.kind, "aggregator": self.aggregator.capitalize(), "hiddenSize": str(self.hidden_size),
                "layers": str(self.num_layers), "normalization": _NORMALIZATIONS[self.normalization],
                "numBases": str(self.num_bases), "outputs": str(self.num_outputs)}

    def save(self, path: Path, features: str, **more: str) -> None:
        """Writes parameters and buffers as a model file, for `spec.training.model.uri` of a job.

        features: the columns that the model reads: "node-feat", or "paper:feat,author:feat". A job rejects a file whose
        features differ from those of its document. more: additional metadata, such as label="node-label".
        """
        write_model_file(path, self.state_dict(), {**self.metadata(), "features": features, **more})

    def load(self, path: Path) -> None:
        """Replaces parameters and buffers by those of a model file, written by a job or by `save`. InvalidArgument: the
        file is that of another model; the parameters are then unchanged."""
        tensors, metadata = read_model_file(path)
        for name, value in self.metadata().items():
            if metadata.get(name, value) != value:
                raise InvalidArgument(f"{name} is {value!r}, but {path} was made with {metadata[name]!r}")
        mine = {name: tuple(tensor.shape) for name, tensor in self.state_dict().items()}
        theirs = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
        for name in sorted({*mine, *theirs}):
            if mine.get(name) != theirs.get(name):
                raise InvalidArgument(f"{path}: {name!r} has the shape {theirs.get(name)}, expected {mine.get(name)}")
        self.load_state_dict(tensors)


class GraphSAGE(GraphModel):
    """GraphSAGE (Hamilton, Ying, Leskovec 2017) with the formulas of SAGEConv. aggregator: "mean", "gcn" or "pool"."""

    kind, _convolution = "GraphSAGE", Sage

    def __init__(self, g: DistGraph, in_feats: int | dict[str, int], hidden_size: int, num_outputs: int,
                 num_layers: int = 2, *, aggregator: str = "mean", **options: Any) -> None:
        self.aggregator = aggregator
        super().__init__(g, in_feats, hidden_size, num_outputs, num_layers, **options)


class GCN(GraphModel):
    """Graph convolution (Kipf, Welling 2017) with the degrees in the whole graph: call `model(blocks, x, keys,
    degrees)` with degrees_of(g, batch)."""

    kind, _convolution, _drops_inputs = "GCN", Relational, True
    needs_degrees = True

    def layer(self, layer: int, block: Block, rows: torch.Tensor | dict[str, torch.Tensor] | None,
              keys: StepKeys | None = None, degrees: Mapping[int, tuple[np.ndarray, np.ndarray]] | None = None
              ) -> dict[str, torch.Tensor]:
        if degrees is None:
            raise InvalidArgument("GCN needs the degrees of the whole graph: degrees=ep.nn.models.degrees_of(g, batch)")
        return super().layer(layer, block, rows, keys, degrees)

    def _relation_layer(self, layer, is_last, inputs, outputs, self_loops, etype):
        return GraphConv(inputs, outputs, bias=False, allow_zero_in_degree=True, self_loops=self_loops)


class GAT(GraphModel):
    """Graph attention (Velickovic et al. 2018): hidden layers concatenate `heads` heads, and the last layer takes the
    mean of `output_heads` heads. attention_dropout: probability for attention during training, with the bits of
    StepKeys."""

    kind, _convolution, _layer = "GAT", Relational, GATConv
    _drops_inputs = _uses_elu = _draws_normal = True

    def __init__(self, g: DistGraph, in_feats: int | dict[str, int], hidden_size: int, num_outputs: int,
                 num_layers: int = 2, *, heads: int = 1, output_heads: int = 1, negative_slope: float = 0.2,
                 attention_dropout: float = 0.0, **options: Any) -> None:
        if hidden_size % heads:
            raise InvalidArgument(f"hidden_size={hidden_size} must be a multiple of heads={heads}")
        self.heads, self.output_heads = heads, output_heads
        self.negative_slope, self.attention_dropout = negative_slope, attention_dropout
        super().__init__(g, in_feats, hidden_size, num_outputs, num_layers, **options)

    def _relation_layer(self, layer, is_last, inputs, outputs, self_loops, etype):
        heads = self.output_heads if is_last else self.heads
        part = self._layer(inputs, outputs if is_last else outputs // heads, heads, attn_drop=self.attention_dropout,
                           negative_slope=self.negative_slope, allow_zero_in_degree=True, self_loops=self_loops,
                           layer=layer, etype=etype, **self._options())
        part.takes_mean = is_last
        return part

    @staticmethod
    def _options():
        return {"bias": False}

    def _needs_keys(self):
        return super()._needs_keys() or self.attention_dropout > 0

    def metadata(self) -> dict[str, str]:
        return {**super().metadata(), "heads": str(self.heads), "outputHeads": str(self.output_heads),
                "negativeSlope": json.dumps(float(self.negative_slope))}


class GATv2(GAT):
    """Graph attention with dynamic scores (Brody, Alon, Yahav 2022). Arguments are those of GAT."""

    kind, _layer = "GATv2", GATv2Conv

    @staticmethod
    def _options():
        return {"bias": True}


class RGCN(GraphModel):
    """R-GCN (Schlichtkrull et al. 2018): means over the neighbors of each relation. num_bases: number of bases that the
    relations share; 0: each relation has a matrix."""

    kind, _convolution = "RGCN", Rgcn

    def __init__(self, g: DistGraph, in_feats: int | dict[str, int], hidden_size: int, num_outputs: int,
                 num_layers: int = 2, *, num_bases: int = 0, **options: Any) -> None:
        self.num_bases = num_bases
        super().__init__(g, in_feats, hidden_size, num_outputs, num_layers, **options)


_KINDS = {model.kind: model for model in (GraphSAGE, GCN, GAT, GATv2, RGCN)}
_OPTIONS = {"GraphSAGE": {"aggregator": ("aggregator", str.lower)}, "RGCN": {"num_bases": ("numBases", int)}}
_OPTIONS["GAT"] = _OPTIONS["GATv2"] = {"heads": ("heads", int), "output_heads": ("outputHeads", int),
                                       "negative_slope": ("negativeSlope", float)}


def load_model(g: DistGraph, path: Path, **options: Any) -> GraphModel:
    """Returns the model of a model file in evaluation mode. The file is `model/best.safetensors` of a job, or was
    written by `save`.

    g: a graph with the node and edge types of the training graph. The widths of features are those of the columns named
    in the file. options: arguments that the file does not contain: dropout, attention_dropout, relations, seed_types,
    group, and in_feats if the graph lacks the columns. InvalidArgument: the file is not a model file, or its model does
    not exist here or has other parameters.
    """
    _, metadata = read_model_file(path)
    kind = metadata["model"]
    if kind not in _KINDS:
        raise InvalidArgument(f"{path} is of a model of type {kind}; expected {', '.join(_KINDS)}")
    options.setdefault("in_feats", _widths_of(g, metadata.get("features", "")))
    options.update({name: parse(metadata[key]) for name, (key, parse) in _OPTIONS.get(kind, {}).items()})
    normalization = {text: name for name, text in _NORMALIZATIONS.items()}[metadata["normalization"]]
    model = _KINDS[kind](g, hidden_size=int(metadata["hiddenSize"]), num_outputs=int(metadata["outputs"]),
                         num_layers=int(metadata["layers"]), normalization=normalization, **options)
    model.load(path)
    return model.eval()


def _widths_of(g, features):
    """Returns the width of each node type. features: "paper:feat,paper:year,author:feat", or "feat" for the only
    type."""
    widths = {}
    for text in filter(None, features.split(",")):
        ntype, name = text.split(":", 1) if ":" in text else (g.ntypes[0], text)
        shape = g.nodes[ntype].data[name].shape
        widths[ntype] = widths.get(ntype, 0) + int(np.prod(shape[1:], dtype=np.int64))
    return widths
