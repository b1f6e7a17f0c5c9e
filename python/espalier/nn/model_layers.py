"""The layers of espalier.nn.models, with the names and formulas of the C++ trainer."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from espalier.block import Block
from espalier.distributed import ProcessGroup
from espalier.nn import functional as F
from espalier.nn.batch_norm import BatchNorm
from espalier.nn.blocks import RelationBlock
from espalier.nn.conv import GraphConv, SAGEConv
from espalier.nn.dropout import StepKeys
from espalier.nn.hetero import OccupiedRows
from espalier.nn.linear import Linear, matmul
from espalier.torch_arrays import to_tensor
from espalier.types import Schema

if TYPE_CHECKING:
    from espalier.nn.models import GraphModel

_RELU_GAIN = nn.init.calculate_gain("relu")


def _module_name(name, number):
    return f"{name.replace('.', '_')}_{number}"  # names of modules may not contain dots


def _relation_name(schema, number):
    return "relation_" + _module_name(":".join(schema.edge_types[number]), number)


def _linear(inputs, outputs, bias=False, gain=_RELU_GAIN):
    linear = Linear(inputs, outputs, bias=bias)
    nn.init.xavier_uniform_(linear.weight, gain=gain)
    if bias:
        nn.init.zeros_(linear.bias)
    return linear


class Epilogue(nn.Module):
    # The operations after the sum of a hidden layer: bias, normalization, ReLU or ELU, dropout.
    def __init__(self, width: int, normalization: str | None, uses_elu: bool, group: ProcessGroup | None) -> None:
        super().__init__()
        self._elu = uses_elu
        self.bias = nn.Parameter(torch.zeros(width))
        self.batch_norm = BatchNorm(width, group) if normalization == "batch" else None
        if normalization == "layer":
            self.layer_norm_weight = nn.Parameter(torch.ones(width))
            self.layer_norm_bias = nn.Parameter(torch.zeros(width))

    def forward(self, x: torch.Tensor, probability: float,
                masks: Iterable[tuple[int, np.ndarray | torch.Tensor]]) -> torch.Tensor:
        bias = self.bias
        if self.batch_norm is not None:
            x, bias = self.batch_norm(x + bias), None
        elif hasattr(self, "layer_norm_weight"):
            x = nn.functional.layer_norm(x + bias, x.shape[1:], self.layer_norm_weight, self.layer_norm_bias)
            bias = None
        if self._elu:
            return F.drop_elements(nn.functional.elu(x if bias is None else x + bias), probability, masks)
        return F.bias_relu_dropout_(x.contiguous(), bias, probability, masks)


class InputProjection(nn.Module):
    # Projects the features of each node type of a typed graph to one width. A type without features gets one learned
    # row.
    def __init__(self, schema: Schema, widths: Sequence[int], read: Sequence[bool], width: int) -> None:
        super().__init__()
        self._schema, self._names = schema, {}
        for number, name in enumerate(schema.node_types):
            if not read[number]:
                continue
            self._names[name] = key = _module_name(name, number)
            if widths[number]:
                self.add_module(key, _linear(widths[number], width, bias=True, gain=1))
            else:
                row = torch.empty(1, width)
                nn.init.xavier_uniform_(row)
                self.register_parameter(key, nn.Parameter(row))

    def forward(self, rows: Mapping[str, torch.Tensor], block: Block) -> dict[str, torch.Tensor]:
        found = {}
        for name, key in self._names.items():
            part = getattr(self, key)
            if isinstance(part, nn.Module):
                found[name] = part(rows[name])
            else:
                found[name] = part.expand(block.num_src_nodes(name), -1)
        return found


class WrittenRows:
    # The rows that a layer writes, in one matrix: those of its node types, one type after another.
    def __init__(self, block: Block, numbers: Iterable[int]) -> None:
        names = block._schema.node_types
        self.names = [names[number] for number in numbers]
        self.counts = [block.num_dst_nodes(name) for name in self.names]
        self.first = dict(zip(self.names, np.concatenate(([0], np.cumsum(self.counts)))[:-1].tolist()))

    def own(self, rows: Mapping[str, torch.Tensor]) -> torch.Tensor:
        parts = [rows[name][:count] for name, count in zip(self.names, self.counts)]
        return parts[0] if len(parts) == 1 else torch.cat(parts)

    def split(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        if len(self.names) == 1:  # the gradient of torch.split copies
            return {self.names[0]: x}
        return dict(zip(self.names, torch.split(x, self.counts)))


class Sage(SAGEConv):
    # GraphSAGE that ignores types: the edges of all relations form one neighborhood.
    def __init__(self, model: "GraphModel", layer: int, inputs: int, outputs: int) -> None:
        super().__init__(inputs, outputs, model.aggregator, bias=False)

    def forward(self, block: Block, rows: Mapping[str, torch.Tensor], written: WrittenRows, **_: Any) -> torch.Tensor:
        if len(rows) == 1 and len(block.canonical_etypes) == 1:
            (x,), edges = rows.values(), F.Edges.of_block(block)
        else:
            x, edges = _merge(block, rows, written)
        return self.convolve(edges, x)


def _merge(block, rows, written):
    """Returns (rows, Edges) of all types: first the rows of destinations, then the other source rows of each type."""
    counts = dict(zip(written.names, written.counts))
    total = sum(written.counts)
    rest, parts = {}, [written.own(rows)]
    for name, x in rows.items():
        rest[name] = total - counts.get(name, 0)
        total += len(x) - counts.get(name, 0)
        parts.append(x[counts.get(name, 0):])
    none = torch.zeros(0, dtype=torch.int64, device=parts[0].device)
    found = [(none, none)]
    for source, relation, destination in block.canonical_etypes:
        if destination not in written.first:
            continue
        starts, ends = map(to_tensor, block.edges((source, relation, destination)))
        is_written = starts < counts.get(source, 0)
        found.append((ends + written.first[destination],
                      starts + torch.where(is_written, written.first.get(source, 0), rest[source])))
    destinations, sources = map(torch.cat, zip(*found))
    order = torch.argsort(destinations, stable=True)  # a destination's edges in the order of the relations
    degrees = torch.bincount(destinations, minlength=sum(written.counts))
    indptr = torch.cat([none.new_zeros(1), torch.cumsum(degrees, 0)])
    return torch.cat(parts), F.Edges(indptr, sources[order], total)


class Rgcn(nn.Module):
    def __init__(self, model: "GraphModel", layer: int, inputs: int, outputs: int) -> None:
        super().__init__()
        self._schema, self._relations = model._schema, model._relations[layer]
        self.add_module("self", _linear(inputs, outputs))
        if model.num_bases and self._relations:
            self.bases = nn.Parameter(torch.empty(model.num_bases, inputs, outputs))
            self.coefficients = nn.Parameter(torch.empty(len(self._relations), model.num_bases))
            matrices = [*self.bases, self.coefficients]
        else:
            self.bases = None
            for number in self._relations:
                self.register_parameter(_relation_name(self._schema, number),
                                        nn.Parameter(torch.empty(inputs, outputs)))
            matrices = [getattr(self, _relation_name(self._schema, number)) for number in self._relations]
        with torch.no_grad():
            for matrix in matrices:
                nn.init.xavier_uniform_(matrix, gain=_RELU_GAIN)

    def _weight(self, position):
        if self.bases is None:
            return getattr(self, _relation_name(self._schema, self._relations[position]))
        return torch.einsum("b,bio->io", self.coefficients[position], self.bases)

    def forward(self, block: Block, rows: Mapping[str, torch.Tensor], written: WrittenRows, **_: Any) -> torch.Tensor:
        total = self._modules["self"](written.own(rows))
        for position, number in enumerate(self._relations):
            source, _, destination = names = self._schema.edge_types[number]
            if destination not in written.first:
                continue
            occupied = OccupiedRows(*F.csc_of(block, names), block.num_src_nodes(source))
            means = F.segment_mean(occupied.edges, rows[source])
            total = total.index_add(0, occupied.rows + written.first[destination], matmul(means, self._weight(position)))
        return total


class Relational(nn.Module):
    # GCN, GAT and GATv2, with one layer for each relation.
    def __init__(self, model: "GraphModel", layer: int, inputs: int, outputs: int) -> None:
        super().__init__()
        self._schema, self._relations = model._schema, model._relations[layer]
        self._self_loops = len(self._schema.node_types) == 1 and len(self._relations) == 1
        if not self._self_loops:
            self.add_module("self", _linear(inputs, outputs))
        is_last = layer + 1 == model.num_layers
        for number in self._relations:
            etype = self._schema.edge_types[number]
            self.add_module(self._name(number),
                            model._relation_layer(layer, is_last, inputs, outputs, self._self_loops, etype))

    def _name(self, number):
        return "neighborhood" if self._self_loops else _relation_name(self._schema, number)

    def forward(self, block: Block, rows: Mapping[str, torch.Tensor], written: WrittenRows, keys: StepKeys | None,
                degrees: Mapping[int, tuple[np.ndarray, np.ndarray]] | None) -> torch.Tensor:
        total = None if self._self_loops else self._modules["self"](written.own(rows))
        for number in self._relations:
            source, _, destination = names = self._schema.edge_types[number]
            if destination not in written.first:
                continue
            view = RelationBlock(block, names)
            own = rows[destination][:view.num_dst_nodes()]
            part = self._part(number, view, rows[source] if self._self_loops else (rows[source], own), keys, degrees)
            if total is None:
                return part
            first = written.first[destination]
            total = torch.cat([total[:first], total[first:first + len(part)] + part, total[first + len(part):]])
        return total

    def _part(self, number, view, feat, keys, degrees):
        layer = getattr(self, self._name(number))
        if isinstance(layer, GraphConv):
            out, inward = degrees[number]
            return layer(view, feat, degrees=(out[:view.num_src_nodes()], inward[:view.num_dst_nodes()]))
        heads = layer(view, feat, keys=keys)
        return heads.mean(1) if layer.takes_mean else heads.flatten(1)
