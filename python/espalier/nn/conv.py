"""Convolutions over one relation without attention."""

from collections.abc import Callable

import numpy as np
import torch
from torch import nn

from espalier.block import Block
from espalier.errors import InvalidArgument
from espalier.nn import functional as F
from espalier.nn.blocks import RelationBlock, edge_weights, edges_of, pair_of, rows_of
from espalier.nn.functional import Edges
from espalier.nn.linear import Linear, matmul
from espalier.torch_arrays import to_tensor
from espalier.typing import Values

_RELU_GAIN = nn.init.calculate_gain("relu")


class SAGEConv(nn.Module):
    """GraphSAGE (Hamilton, Ying, Leskovec, NeurIPS 2017). Counterpart of DGL's SAGEConv, without the aggregator "lstm".

        mean    W_self x_v + W_neigh mean(x_u)
        gcn     W_neigh (sum of x_u + x_v) / (number of x_u + 1)
        pool    W_self x_v + W_neigh max(relu(W_pool x_u + b_pool))

    over the in-neighbors u of v in the block. For a destination without in-neighbors, the mean and the maximum are
    zeros.

    in_feats: width of the rows, or a pair of the widths of sources and destinations. Parameters: `fc_self.weight` [out,
    in], `fc_neigh.weight` [out, in], `fc_pool.weight` [in, in], `fc_pool.bias`, and with bias `fc_self.bias` (`bias`
    for "gcn"). With bias=False, names and shapes are those of a layer of the C++ trainer.
    """

    def __init__(self, in_feats: int | tuple[int, int], out_feats: int, aggregator_type: str, feat_drop: float = 0.0,
                 bias: bool = True, norm: Callable[[torch.Tensor], torch.Tensor] | None = None,
                 activation: Callable[[torch.Tensor], torch.Tensor] | None = None) -> None:
        super().__init__()
        if aggregator_type not in ("mean", "gcn", "pool"):
            raise InvalidArgument(f"aggregator_type must be 'mean', 'gcn' or 'pool', not {aggregator_type!r}")
        self._in_src_feats, self._in_dst_feats = pair_of(in_feats)
        self._out_feats, self._aggre_type = out_feats, aggregator_type
        self.norm, self.activation, self.feat_drop = norm, activation, nn.Dropout(feat_drop)
        if aggregator_type == "pool":
            self.fc_pool = Linear(self._in_src_feats, self._in_src_feats)
        self.fc_neigh = Linear(self._in_src_feats, out_feats, bias=False)
        if aggregator_type != "gcn":
            self.fc_self = Linear(self._in_dst_feats, out_feats, bias=bias)
        self.bias = nn.Parameter(torch.zeros(out_feats)) if aggregator_type == "gcn" and bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws weights by Xavier's uniform distribution with the gain of ReLU."""
        for linear in (self.fc_neigh, getattr(self, "fc_pool", None), getattr(self, "fc_self", None)):
            if linear is not None:
                nn.init.xavier_uniform_(linear.weight, gain=_RELU_GAIN)

    def forward(self, block: Block | RelationBlock, feat: torch.Tensor | tuple[torch.Tensor, torch.Tensor],
                edge_weight: torch.Tensor | None = None) -> torch.Tensor:
        """Returns float32 [destinations, out_feats].

        feat: float32 [sources, in_feats] whose first rows are those of the destinations, or a pair (sources,
        destinations). edge_weight: float32 [edges] or [edges, 1] in the order of the block, factors of the neighbors'
        rows.
        """
        edges = edges_of(block)
        weights = None if edge_weight is None else edge_weights(edge_weight, edges)
        if isinstance(feat, tuple):
            source, destination = rows_of(block, tuple(self.feat_drop(rows) for rows in feat))
        else:
            source, destination = rows_of(block, self.feat_drop(feat))
        result = self._convolve(edges, weights, source, destination, isinstance(feat, tuple))
        if self.activation is not None:
            result = self.activation(result)
        return result if self.norm is None else self.norm(result)

    def convolve(self, edges: Edges, x: torch.Tensor) -> torch.Tensor:
        """Returns the result of forward for a block with these Edges, without norm, activation and dropout of
        features."""
        return self._convolve(edges, None, x, x[:edges.num_dst], False)

    def _convolve(self, *arguments):
        return {"mean": self._mean, "gcn": self._gcn, "pool": self._pool}[self._aggre_type](*arguments)

    def _mean(self, edges, weights, source, destination, is_pair):
        if not is_pair and weights is None:  # one matrix product for both
            both = torch.cat([self.fc_self.weight, self.fc_neigh.weight], 1)
            return matmul(F.self_and_mean(edges, source), both.t(), self.fc_self.bias)
        if weights is None:
            mean = F.segment_mean(edges, source)
        else:
            mean = F.weighted_sum(edges, weights, source) / edges.in_degrees().clamp(min=1)[:, None]
        return self.fc_self(destination) + self.fc_neigh(mean)

    def _gcn(self, edges, weights, source, destination, is_pair):
        if not is_pair and weights is None:
            return self._with_bias(self.fc_neigh(F.segment_mean(edges, source, with_self=True)))
        sums = F.segment_sum(edges, source) if weights is None else F.weighted_sum(edges, weights, source)
        return self._with_bias(self.fc_neigh((sums + destination) / (edges.in_degrees() + 1)[:, None]))

    def _with_bias(self, rows):
        return rows if self.bias is None else rows + self.bias

    def _pool(self, edges, weights, source, destination, _):
        pooled = torch.relu(self.fc_pool(source))
        if weights is not None:  # a row for each edge
            pooled = pooled[to_tensor(edges.indices).long()] * weights
            edges = F.Edges(edges.indptr, torch.arange(edges.num_edges, dtype=torch.int32, device=edges.device),
                            edges.num_edges)
        return self.fc_self(destination) + self.fc_neigh(F.segment_max(edges, pooled))


class GraphConv(nn.Module):
    """Graph convolution (Kipf, Welling, ICLR 2017): y_v = b + sum over in-neighbors u of c_uv W x_u. Counterpart of
    DGL's GraphConv.

    norm: "both": c_uv = 1 / sqrt(d_out(u) d_in(v)); "right": 1 / d_in(v); "left": 1 / d_out(u); "none": 1. Degrees are
    those in the block, at least 1, as in DGL; or those in the whole graph, as in the C++ trainer, if forward gets
    `degrees`.
    self_loops: whether each destination is also its own neighbor (DGL's add_self_loop). A destination without in-edges
    raises InvalidArgument unless self_loops or allow_zero_in_degree is set.

    Parameters: `fc.weight` [out_feats, in_feats] with weight=True, as in the C++ trainer (DGL's `weight` is its
    transpose); `bias` [out_feats].
    """

    def __init__(self, in_feats: int, out_feats: int, norm: str = "both", weight: bool = True, bias: bool = True,
                 activation: Callable[[torch.Tensor], torch.Tensor] | None = None, allow_zero_in_degree: bool = False,
                 *, self_loops: bool = False) -> None:
        super().__init__()
        if norm not in ("none", "both", "right", "left"):
            raise InvalidArgument(f"norm must be 'none', 'both', 'right' or 'left', not {norm!r}")
        self._in_feats, self._out_feats, self._norm = in_feats, out_feats, norm
        self._allow_zero_in_degree, self._self_loops, self._activation = allow_zero_in_degree, self_loops, activation
        self.fc = Linear(in_feats, out_feats, bias=False) if weight else None
        self.bias = nn.Parameter(torch.zeros(out_feats)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws the weight by Xavier's uniform distribution, and sets the bias to zeros."""
        if self.fc is not None:
            nn.init.xavier_uniform_(self.fc.weight)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def forward(self, block: Block | RelationBlock, feat: torch.Tensor | tuple[torch.Tensor, torch.Tensor],
                weight: torch.Tensor | None = None, edge_weight: torch.Tensor | None = None, *,
                degrees: tuple[Values, Values] | None = None) -> torch.Tensor:
        """Returns float32 [destinations, out_feats].

        feat: float32 [sources, in_feats], or a pair (sources, destinations), of which only the sources are read; with
        self_loops a pair raises InvalidArgument. weight: [in_feats, out_feats], replaces the layer's own weight.
        edge_weight: float32 [edges] or [edges, 1]. degrees: (out-degrees [sources], in-degrees [destinations]) in the
        whole graph, without self loops; the sum over sampled neighbors is then scaled to the expected sum over all
        neighbors. Requires norm="both" and no edge_weight.
        """
        if weight is not None and self.fc is not None:
            raise InvalidArgument("the layer has a weight of its own; make it with weight=False to pass one")
        if isinstance(feat, tuple) and self._self_loops:
            raise InvalidArgument("self_loops needs sources whose first rows are the destinations', and not a pair")
        edges = edges_of(block, allow_zero_in_degree=self._allow_zero_in_degree or self._self_loops)
        source, _ = rows_of(block, feat)
        weight = self.fc.weight.t() if self.fc is not None else weight
        if degrees is None:
            def aggregate(x):
                return self._by_block(edges, x, edge_weight)
        else:
            if self._norm != "both" or edge_weight is not None:
                raise InvalidArgument("degrees of the whole graph are for norm='both' without weights of edges")
            scales = whole_graph_scales(edges, *degrees, self._self_loops)

            def aggregate(x):
                return F.segment_sum(edges, x, *scales)
        if weight is None:
            rows = aggregate(source)
        elif weight.shape[0] > weight.shape[1]:  # aggregate in the narrower of the two widths
            rows = aggregate(matmul(source, weight))
        else:
            rows = matmul(aggregate(source), weight)
        rows = rows if self.bias is None else rows + self.bias
        return rows if self._activation is None else self._activation(rows)

    def _by_block(self, edges, x, edge_weight):
        out_degrees, in_degrees = edges.out_degrees(), edges.in_degrees() + self._self_loops
        if self._self_loops:
            out_degrees[:edges.num_dst] += 1
        powers = {"both": (-0.5, -0.5), "left": (-1, None), "right": (None, -1), "none": (None, None)}[self._norm]
        source, result = (None if power is None else degrees.clamp(min=1) ** power
                          for degrees, power in zip((out_degrees, in_degrees), powers))
        own = None
        if self._self_loops:
            own = torch.ones_like(in_degrees) if source is None else source[:edges.num_dst]
        if edge_weight is None:
            return F.segment_sum(edges, x, source, own, result)
        scaled = x if source is None else x * source[:, None]
        sums = F.weighted_sum(edges, edge_weights(edge_weight, edges), scaled)
        if self._self_loops:
            sums = sums + scaled[:edges.num_dst]
        return sums if result is None else sums * result[:, None]


def whole_graph_scales(edges: Edges, out_degrees: Values, in_degrees: Values,
                       self_loops: bool) -> tuple[torch.Tensor, torch.Tensor | None, torch.Tensor]:
    """Returns GCN's scales of sources, of destinations' own rows (None without self loops) and of results, from the
    degrees in the whole graph: c_uv = (d_in(v) / sampled(v)) / sqrt(d_out(u) d_in(v)), as in the C++ trainer."""
    whole_out, whole_in = (
        (degrees if isinstance(degrees, torch.Tensor) else torch.from_numpy(np.array(degrees, np.float32)))
        .to(edges.device, torch.float32).reshape(-1) for degrees in (out_degrees, in_degrees))
    if len(whole_out) != edges.num_src or len(whole_in) != edges.num_dst:
        raise InvalidArgument(f"there are {edges.num_src} sources and {edges.num_dst} destinations, and degrees of "
                              f"{len(whole_out)} and {len(whole_in)}")
    source = 1 / (whole_out + self_loops).clamp(min=1).sqrt()
    drawn = edges.in_degrees()
    share = torch.where(drawn > 0, drawn / whole_in, 1)
    result = 1 / (share * (whole_in + self_loops).clamp(min=1).sqrt())
    return source, source[:edges.num_dst] * share if self_loops else None, result
