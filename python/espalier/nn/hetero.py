"""Layers over blocks of several relations."""

import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import torch
from torch import nn

from espalier.block import Block
from espalier.errors import InvalidArgument
from espalier.nn import functional as F
from espalier.nn.blocks import RelationBlock, edge_weights
from espalier.nn.linear import Linear, matmul
from espalier.torch_arrays import to_tensor
from espalier.typing import Ids

_RELU_GAIN = nn.init.calculate_gain("relu")


def by_type(block: Block, feat: torch.Tensor | dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Returns {node type: rows}. feat: such a dict, or the rows of the only type."""
    names = block._schema.node_types
    if not isinstance(feat, dict):
        feat = {names[block._schema.node_type()]: feat}
    for name, rows in feat.items():
        if len(rows) != block.num_src_nodes(name):
            raise InvalidArgument(f"the block has {block.num_src_nodes(name)} sources of type {name!r}, and the "
                                  f"features are of {len(rows)}")
    return feat


def _like(feat, found):
    """Returns `found`, {node type: rows}, in the form of `feat`: a dict, or the rows of the only type."""
    return found if isinstance(feat, dict) else next(iter(found.values()))


class OccupiedRows:
    # The destinations that have edges of one relation. In a graph with many relations, most nodes have no edges of most
    # relations.
    def __init__(self, indptr: Ids, indices: Ids, num_src: int) -> None:
        counts = torch.diff(to_tensor(indptr))
        self.rows = torch.nonzero(counts).flatten()
        self.edges = F.Edges(_starts(counts[self.rows]), indices, num_src)


def _starts(counts):
    """Returns the offsets of segments with these lengths: int64 [n + 1]."""
    return torch.cat([counts.new_zeros(1, dtype=torch.int64), torch.cumsum(counts, 0)])


class RelGraphConv(nn.Module):
    """R-GCN (Schlichtkrull et al., ESWC 2018): y_v = b + W_self x_v + sum over relations r and in-neighbors u of
    norm_e W_r x_u. Counterpart of DGL's RelGraphConv.

    num_rels: number of relations. regularizer: None: each relation has a matrix; "basis": W_r = sum of coefficients[r,
    b] bases[b]; "bdd": W_r is block-diagonal with num_bases blocks. Parameters: `weight` [num_rels, in, out]; or
    `bases` [num_bases, in, out] and `coefficients` [num_rels, num_bases]; or `weight` [num_rels, num_bases, in /
    num_bases, out / num_bases]; `loop.weight` [out, in] (DGL's loop_weight is its transpose) and `bias` [out].
    """

    def __init__(self, in_feat: int, out_feat: int, num_rels: int, regularizer: str | None = None,
                 num_bases: int | None = None, bias: bool = True,
                 activation: Callable[[torch.Tensor], torch.Tensor] | None = None, self_loop: bool = True,
                 dropout: float = 0.0, layer_norm: bool = False) -> None:
        super().__init__()
        if regularizer not in (None, "basis", "bdd"):
            raise InvalidArgument(f"regularizer must be None, 'basis' or 'bdd', not {regularizer!r}")
        num_bases = num_rels if num_bases is None else num_bases
        if regularizer == "bdd" and (in_feat % num_bases or out_feat % num_bases):
            raise InvalidArgument(f"num_bases={num_bases} must divide in_feat={in_feat} and out_feat={out_feat}")
        self._in_feat, self._out_feat, self._num_rels, self._regularizer = in_feat, out_feat, num_rels, regularizer
        if regularizer == "basis":
            self.bases = nn.Parameter(torch.empty(num_bases, in_feat, out_feat))
            self.coefficients = nn.Parameter(torch.empty(num_rels, num_bases))
        elif regularizer == "bdd":
            self.weight = nn.Parameter(torch.empty(num_rels, num_bases, in_feat // num_bases, out_feat // num_bases))
        else:
            self.weight = nn.Parameter(torch.empty(num_rels, in_feat, out_feat))
        self.loop = Linear(in_feat, out_feat, bias=False) if self_loop else None
        self.bias = nn.Parameter(torch.zeros(out_feat)) if bias else None
        self.layer_norm = nn.LayerNorm(out_feat) if layer_norm else None
        self.activation, self.dropout = activation, nn.Dropout(dropout)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws each matrix by Xavier's uniform distribution with the gain of ReLU."""
        if self._regularizer == "basis":
            matrices = [*self.bases, self.coefficients]
        else:
            matrices = list(self.weight.reshape(-1, *self.weight.shape[-2:]))
        with torch.no_grad():
            for matrix in matrices + ([] if self.loop is None else [self.loop.weight]):
                nn.init.xavier_uniform_(matrix, gain=_RELU_GAIN)

    def relation_weights(self) -> torch.Tensor:
        """Returns the matrix of each relation: [num_rels, in, out]."""
        if self._regularizer == "basis":
            return torch.einsum("rb,bio->rio", self.coefficients, self.bases)
        if self._regularizer == "bdd":
            return torch.stack([torch.block_diag(*blocks) for blocks in self.weight])
        return self.weight

    def forward(self, block: Block, feat: torch.Tensor | dict[str, torch.Tensor], etypes: Ids | None = None,
                norm: str | torch.Tensor | dict[Any, torch.Tensor] | None = None, *,
                presorted: bool = False) -> torch.Tensor | dict[str, torch.Tensor]:
        """Returns float32 [destinations, out_feat], or {node type: rows} if `feat` is a dict.

        feat: float32 [sources, in_feat], or {node type: rows} for a typed block, whose relations are numbered like the
        graph's canonical_etypes. etypes: int [edges], the relation of each edge of a block with one edge type; None for
        typed blocks. norm: float32 [edges] or [edges, 1] in the order of the block, or {etype: weights} for a typed
        block; or "mean": 1 / (number of edges of the destination in the relation), as in the paper and the C++ trainer.
        presorted: no effect; accepted for compatibility with DGL.
        """
        rows = by_type(block, feat)
        written = {name: block.num_dst_nodes(name) for name in rows}
        sums = {name: (matmul(x[:written[name]], self.loop.weight.t()) if self.loop is not None else
                       x.new_zeros(written[name], self._out_feat)) for name, x in rows.items()}
        weights = self.relation_weights()
        for number, source, destination, occupied, norms in self._relations(block, etypes, norm):
            if source not in rows or destination not in sums:
                continue
            if number >= self._num_rels:
                raise InvalidArgument(f"there is a relation {number}, and the layer has {self._num_rels}")
            edges = occupied.edges
            if isinstance(norms, str):
                sums_of_rows = F.segment_mean(edges, rows[source])
            elif norms is None:
                sums_of_rows = F.segment_sum(edges, rows[source])
            else:
                sums_of_rows = F.weighted_sum(edges, edge_weights(norms, edges), rows[source])
            sums[destination] = sums[destination].index_add(0, occupied.rows, matmul(sums_of_rows, weights[number]))
        return _like(feat, {name: self._finish(x) for name, x in sums.items()})

    def _finish(self, x):
        if self.layer_norm is not None:
            x = self.layer_norm(x)
        if self.bias is not None:
            x = x + self.bias
        return self.dropout(x if self.activation is None else self.activation(x))

    @staticmethod
    def _relations(block, etypes, norm):
        """Yields (number, source type, destination type, occupied rows, norms of the edges)."""
        if isinstance(norm, str) and norm != "mean":
            raise InvalidArgument(f"norm must be None, weights of edges or 'mean', not {norm!r}")
        schema = block._schema
        if etypes is None:
            for names in block.canonical_etypes:
                norms = norm
                if norm is not None and not isinstance(norm, str):
                    norms = norm.get(names, norm.get(names[1])) if isinstance(norm, dict) else norm
                yield (schema.edge_type(names), names[0], names[2],
                       OccupiedRows(*F.csc_of(block, names), block.num_src_nodes(names[0])), norms)
            return
        indptr, indices = map(to_tensor, F.csc_of(block))
        numbers = to_tensor(etypes if isinstance(etypes, torch.Tensor) else np.array(etypes)).to(indices.device)
        if numbers.shape != (len(indices),) or (numbers.numel() and numbers.min() < 0):
            raise InvalidArgument(f"etypes must be {len(indices)} numbers of relations, of shape {list(numbers.shape)}")
        source, _, destination = block.canonical_etypes[0]
        rows = _rows_of_edges(indptr, len(indices))
        for number in torch.unique(numbers).tolist():
            chosen = torch.nonzero(numbers == number).flatten()
            counts = torch.bincount(rows[chosen], minlength=len(indptr) - 1)
            occupied = OccupiedRows(_starts(counts), indices[chosen], block.num_src_nodes(source))
            norms = norm if norm is None or isinstance(norm, str) else norm[chosen.to(norm.device)]
            yield number, source, destination, occupied, norms


def _rows_of_edges(indptr, num_edges):
    """Returns the destination of each edge: int64 [E]."""
    rows = torch.arange(len(indptr) - 1, device=indptr.device)
    return torch.repeat_interleave(rows, torch.diff(indptr).long(), output_size=num_edges)


class HGTConv(nn.Module):
    """Heterogeneous graph transformer (Hu et al., WWW 2020). Counterpart of DGL's HGTConv, on typed blocks: the scores
    of edge e of relation r from s to d are pri[r, h] (K s . W_att[r] . Q d) / sqrt(head_size), attention is their
    softmax over all in-edges of d, of every relation, messages are W_msg[r] V s, and y = sigmoid(skip) A(sum) + (1 -
    sigmoid(skip)) x.

    Node types and relations are numbered like the graph's ntypes and canonical_etypes. Parameters, with H heads of C =
    head_size columns: `linear_k`, `linear_q`, `linear_v` [num_ntypes, in_size, H * C], `linear_a` [num_ntypes, H * C, H
    * C], `relation_pri` [num_etypes, H], `relation_att`, `relation_msg` [num_etypes, H, C, C], `skip` [num_ntypes],
    `residual_w` [in_size, H * C] if in_size is not H * C, and `norm` with use_norm. No model of the C++ trainer has
    this layer.
    """

    def __init__(self, in_size: int, head_size: int, num_heads: int, num_ntypes: int, num_etypes: int,
                 dropout: float = 0.2, use_norm: bool = False) -> None:
        super().__init__()
        self._heads, self._columns = num_heads, head_size
        width = num_heads * head_size
        for name in ("linear_k", "linear_q", "linear_v"):
            setattr(self, name, nn.Parameter(torch.empty(num_ntypes, in_size, width)))
        self.linear_a = nn.Parameter(torch.empty(num_ntypes, width, width))
        self.relation_pri = nn.Parameter(torch.ones(num_etypes, num_heads))
        self.relation_att = nn.Parameter(torch.empty(num_etypes, num_heads, head_size, head_size))
        self.relation_msg = nn.Parameter(torch.empty(num_etypes, num_heads, head_size, head_size))
        self.skip = nn.Parameter(torch.ones(num_ntypes))
        self.residual_w = nn.Parameter(torch.empty(in_size, width)) if in_size != width else None
        self.drop, self.norm = nn.Dropout(dropout), nn.LayerNorm(width) if use_norm else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws matrices uniformly from (-1 / sqrt(in), 1 / sqrt(in)), like DGL's TypedLinear."""
        with torch.no_grad():
            for matrices in (self.linear_k, self.linear_q, self.linear_v, self.linear_a, self.relation_att,
                             self.relation_msg):
                bound = 1 / math.sqrt(matrices.shape[-2])
                matrices.uniform_(-bound, bound)
            self.relation_pri.fill_(1)
            self.skip.fill_(1)
            if self.residual_w is not None:
                nn.init.xavier_uniform_(self.residual_w)

    def forward(self, block: Block,
                feat: torch.Tensor | dict[str, torch.Tensor]) -> torch.Tensor | dict[str, torch.Tensor]:
        """Returns {node type: float32 [destinations, H * C]}, or only the rows if `feat` has only the rows of the only
        type.

        feat: {node type: float32 [sources, in_size]} for the types of both endpoints of the block's relations.
        """
        rows = by_type(block, feat)
        written = {name: block.num_dst_nodes(name) for name in rows}
        found = {}
        for name, x in rows.items():
            number = block._schema.node_type(name)
            destination = x[:written[name]]
            sums = self._attend(block, rows, name, matmul(destination, self.linear_q[number]))
            alpha = torch.sigmoid(self.skip[number])
            own = destination if self.residual_w is None else matmul(destination, self.residual_w)
            y = self.drop(matmul(sums, self.linear_a[number])) * alpha + own * (1 - alpha)
            found[name] = y if self.norm is None else self.norm(y)
        return _like(feat, found)

    def _attend(self, block, rows, name, queries):
        """Returns the weighted sum of messages of each destination of a type: [destinations, H * C]."""
        schema = block._schema
        relations = [names for names in block.canonical_etypes
                     if names[2] == name and names[0] in rows and block.num_edges(names)]
        if not relations or not len(queries):
            return torch.zeros_like(queries)
        # A source has a key and a message for each relation. All relations form one block whose sources are (relation,
        # node) pairs.
        keys, messages = [], []
        for names in relations:
            relation, source = schema.edge_type(names), schema.node_type(names[0])
            scale = self.relation_pri[relation] / math.sqrt(self._columns)
            attention = self.relation_att[relation] * scale[:, None, None]
            keys.append(self._by_head(matmul(rows[names[0]], self.linear_k[source]), attention))
            messages.append(self._by_head(matmul(rows[names[0]], self.linear_v[source]), self.relation_msg[relation]))
        edges = _merged([F.csc_of(block, names) for names in relations], [len(part) for part in keys])
        weights = F.edge_softmax(edges, F.edge_dots(edges, self._heads, torch.cat(keys), queries))
        return F.weighted_sum(edges, weights, torch.cat(messages))

    def _by_head(self, x, matrices):
        by_head = torch.einsum("nhi,hio->nho", x.view(-1, self._heads, self._columns), matrices)
        return by_head.reshape(-1, self._heads * self._columns)


def _merged(blocks, num_src):
    """Merges several (indptr, indices) with the same destinations to one Edges, in which their sources are numbered
    consecutively."""
    blocks = [tuple(map(to_tensor, block)) for block in blocks]
    firsts = [0, *itertools.accumulate(num_src)]
    rows = torch.cat([_rows_of_edges(indptr, len(indices)) for indptr, indices in blocks])
    indices = torch.cat([indices.long() + first for (_, indices), first in zip(blocks, firsts)])
    order = torch.argsort(rows, stable=True)
    indptr = torch.stack([indptr.long() for indptr, _ in blocks]).sum(0)
    return F.Edges(indptr, indices[order], firsts[-1])


class HeteroGraphConv(nn.Module):
    """A layer for each relation, and a sum (or another aggregate) over the relations that end in a node type.
    Counterpart of DGL's HeteroGraphConv.

    mods: {relation or canonical edge type: module}, called as module(RelationBlock, (sources, destinations), ...). A
    canonical edge type takes precedence. aggregate: "sum", "max", "min", "mean", "stack", or a function of (list of
    rows, node type).
    """

    _AGGREGATES = {"sum": lambda x: x.sum(0), "max": lambda x: x.max(0)[0], "min": lambda x: x.min(0)[0],
                   "mean": lambda x: x.mean(0), "stack": lambda x: x.transpose(0, 1)}

    def __init__(self, mods: Mapping[Any, nn.Module],
                 aggregate: str | Callable[[list[torch.Tensor], str], torch.Tensor] = "sum") -> None:
        super().__init__()
        self.mods = nn.ModuleDict({self._key(name): module for name, module in mods.items()})
        if not callable(aggregate) and aggregate not in self._AGGREGATES:
            raise InvalidArgument(f"aggregate must be one of {', '.join(self._AGGREGATES)} or a function, not "
                                  f"{aggregate!r}")
        self._aggregate = aggregate

    @staticmethod
    def _key(name):
        # Names of modules may not contain dots.
        return (":".join(name) if isinstance(name, tuple) else name).replace(".", "_")

    def _module(self, names):
        for key in (self._key(names), self._key(names[1])):
            if key in self.mods:
                return self.mods[key]
        raise InvalidArgument(f"there is no module for {':'.join(names)}; there are {', '.join(self.mods)}")

    def forward(self, block: Block, inputs: torch.Tensor | dict[str, torch.Tensor] |
                tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]],
                mod_args: Mapping[Any, Iterable[Any]] | None = None,
                mod_kwargs: Mapping[Any, Mapping[str, Any]] | None = None) -> dict[str, torch.Tensor]:
        """Returns {node type: rows} for the destination types of relations that have inputs.

        inputs: {node type: rows of sources}, or a pair of such dicts for sources and destinations. mod_args,
        mod_kwargs: {relation or canonical edge type: additional arguments of its module}.
        """
        if isinstance(inputs, tuple):
            sources, destinations = inputs
        else:
            sources = by_type(block, inputs)
            destinations = {name: rows[:block.num_dst_nodes(name)] for name, rows in sources.items()}
        found = {}
        for names in block.canonical_etypes:
            source, relation, destination = names
            if source not in sources or destination not in destinations:
                continue
            more = [options.get(names, options.get(relation, default))
                    for options, default in ((mod_args or {}, ()), (mod_kwargs or {}, {}))]
            rows = self._module(names)(RelationBlock(block, names), (sources[source], destinations[destination]),
                                       *more[0], **more[1])
            found.setdefault(destination, []).append(rows)
        if callable(self._aggregate):
            return {name: self._aggregate(rows, name) for name, rows in found.items()}
        return {name: self._AGGREGATES[self._aggregate](torch.stack(rows)) for name, rows in found.items()}
