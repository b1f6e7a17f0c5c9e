"""Graph attention over one relation."""

from collections.abc import Callable

import torch
from torch import nn

from espalier.block import Block
from espalier.errors import InvalidArgument
from espalier.nn import functional as F
from espalier.nn.blocks import RelationBlock, edge_weights, edges_of, pair_of, rows_of
from espalier.nn.dropout import StepKeys
from espalier.nn.linear import Linear
from espalier.typing import EdgeType

_RELU_GAIN = nn.init.calculate_gain("relu")


class _Attention(nn.Module):
    # Base of both layers, with everything except the scores.
    def __init__(self, in_feats, out_feats, num_heads, feat_drop, attn_drop, negative_slope, residual, activation,
                 allow_zero_in_degree, bias, self_loops, layer, etype) -> None:
        super().__init__()
        self._in_src_feats, self._in_dst_feats = pair_of(in_feats)
        self._num_heads, self._out_feats, self._negative_slope = num_heads, out_feats, negative_slope
        self._allow_zero_in_degree, self._self_loops = allow_zero_in_degree, self_loops
        self._layer, self._etype = layer, etype
        self.feat_drop, self.attn_drop, self.activation = nn.Dropout(feat_drop), nn.Dropout(attn_drop), activation
        width = num_heads * out_feats
        self.res_fc = None
        if residual:
            changes = self._in_dst_feats != width
            self.res_fc = Linear(self._in_dst_feats, width, bias=bias) if changes else nn.Identity()

    def _rows(self, block, feat):
        if isinstance(feat, tuple) and self._self_loops:
            raise InvalidArgument("self_loops needs sources whose first rows are the destinations', and not a pair")
        feat = tuple(map(self.feat_drop, feat)) if isinstance(feat, tuple) else self.feat_drop(feat)
        return rows_of(block, feat)

    def _edges(self, block):
        return edges_of(block, self._self_loops, self._allow_zero_in_degree)

    def _attend(self, edges, scores, values, destination, edge_weight, get_attention, keys):
        weights = F.edge_softmax(edges, scores)
        if keys is None or not self.training:
            weights = self.attn_drop(weights)
        elif self.attn_drop.p > 0:
            masks = keys.attention_masks(edges, self._layer, self._etype)
            weights = F.drop_edges(edges, weights, self.attn_drop.p, *masks)
        if edge_weight is not None:
            weights = weights * edge_weights(edge_weight, edges)
        rows = F.weighted_sum(edges, weights, values).view(-1, self._num_heads, self._out_feats)
        if self.res_fc is not None:
            rows = rows + self.res_fc(destination).view(-1, self._num_heads, self._out_feats)
        rows = self._finish(rows)
        return (rows, weights.unsqueeze(2)) if get_attention else rows

    def _finish(self, rows):
        return rows if self.activation is None else self.activation(rows)

    def _attention_parameter(self):
        # Initialized as [1, H, C], the shape in DGL, for which xavier_normal_ uses fans of H * C and C.
        parameter = torch.empty(1, self._num_heads, self._out_feats)
        nn.init.xavier_normal_(parameter, gain=_RELU_GAIN)
        return nn.Parameter(parameter[0])

    def _reset_linear(self, *layers):
        for linear in (*layers, self.res_fc):
            if isinstance(linear, nn.Linear):
                nn.init.xavier_normal_(linear.weight, gain=_RELU_GAIN)
                if linear.bias is not None:
                    nn.init.zeros_(linear.bias)


class GATConv(_Attention):
    """Graph attention (Velickovic et al., ICLR 2018): y_v[h] = sum over in-neighbors u of a_uv[h] W[h] x_u, where a is
    the softmax over u of LeakyReLU(attn_src[h] . W[h] x_u + attn_dst[h] . W[h] x_v). Counterpart of DGL's GATConv.

    in_feats: width of the rows, or a pair of the widths of sources and destinations. out_feats: columns of each of
    num_heads heads. self_loops: whether each destination is also its own neighbor. A destination without in-edges
    raises InvalidArgument unless self_loops or allow_zero_in_degree is set. layer, etype: select the masks of StepKeys
    for attention dropout.

    Parameters: `fc.weight` [H * C, in] (`fc_src.weight` and `fc_dst.weight` for a pair), `attn_src` and `attn_dst` [H,
    C] (DGL's attn_l and attn_r, [1, H, C]), `bias` [H * C], and `res_fc` with a residual of another width. With
    bias=False and one width, names and shapes are those of a layer of the C++ trainer.
    """

    def __init__(self, in_feats: int | tuple[int, int], out_feats: int, num_heads: int, feat_drop: float = 0.0,
                 attn_drop: float = 0.0, negative_slope: float = 0.2, residual: bool = False,
                 activation: Callable[[torch.Tensor], torch.Tensor] | None = None, allow_zero_in_degree: bool = False,
                 bias: bool = True, *, self_loops: bool = False, layer: int = 0,
                 etype: EdgeType | None = None) -> None:
        super().__init__(in_feats, out_feats, num_heads, feat_drop, attn_drop, negative_slope, residual, activation,
                         allow_zero_in_degree, bias, self_loops, layer, etype)
        width = num_heads * out_feats
        if isinstance(in_feats, tuple):
            self.fc_src = Linear(self._in_src_feats, width, bias=False)
            self.fc_dst = Linear(self._in_dst_feats, width, bias=False)
        else:
            self.fc = Linear(in_feats, width, bias=False)
        self.attn_src, self.attn_dst = self._attention_parameter(), self._attention_parameter()
        self.bias = nn.Parameter(torch.zeros(width)) if bias and not isinstance(self.res_fc, nn.Linear) else None
        self._reset_linear(*([self.fc_src, self.fc_dst] if isinstance(in_feats, tuple) else [self.fc]))

    def forward(self, block: Block | RelationBlock, feat: torch.Tensor | tuple[torch.Tensor, torch.Tensor],
                edge_weight: torch.Tensor | None = None, get_attention: bool = False, *,
                keys: StepKeys | None = None) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
        """Returns float32 [destinations, H, C]; with get_attention, (rows, attention [edges, H, 1]).

        feat: float32 [sources, in_feats] whose first rows are those of the destinations, or a pair (sources,
        destinations). edge_weight: float32 [edges], factors of the attention; with self_loops, the edges include the
        self loops, each after the other edges of its destination. keys: StepKeys, for attention dropout with the same
        bits as the C++ trainer; None: torch's generator draws the bits.
        """
        edges = self._edges(block)
        source, destination = self._rows(block, feat)
        if hasattr(self, "fc"):
            values = self.fc(source)
            # Both parts of a pair are multiplied by the weight. Without a pair, destinations are the first sources.
            of_destinations = self.fc(destination) if isinstance(feat, tuple) else values[:edges.num_dst]
        else:
            values, of_destinations = self.fc_src(source), self.fc_dst(destination)
        scores = F.additive_scores(edges, self._dots(values, self.attn_src), self._dots(of_destinations, self.attn_dst),
                                   self._negative_slope)
        return self._attend(edges, scores, values, destination, edge_weight, get_attention, keys)

    def _dots(self, rows, attention):
        return (rows.view(-1, self._num_heads, self._out_feats) * attention).sum(2)

    def _finish(self, rows):
        if self.bias is not None:
            rows = rows + self.bias.view(self._num_heads, self._out_feats)
        return super()._finish(rows)


class GATv2Conv(_Attention):
    """Graph attention with dynamic scores (Brody, Alon, Yahav, ICLR 2022): like GATConv, with a = softmax of attn[h] .
    LeakyReLU(W_src[h] x_u + W_dst[h] x_v). Counterpart of DGL's GATv2Conv.

    Arguments are those of GATConv. share_weights: whether W_dst is W_src. bias: whether W_src and W_dst have biases.
    Parameters: `fc_src.weight`, `fc_dst.weight` [H * C, in], `fc_src.bias`, `fc_dst.bias` [H * C], `attn` [H, C] (DGL's
    is [1, H, C]), and `res_fc` with a residual of another width. Names and shapes are those of a layer of the C++
    trainer.
    """

    def __init__(self, in_feats: int | tuple[int, int], out_feats: int, num_heads: int, feat_drop: float = 0.0,
                 attn_drop: float = 0.0, negative_slope: float = 0.2, residual: bool = False,
                 activation: Callable[[torch.Tensor], torch.Tensor] | None = None, allow_zero_in_degree: bool = False,
                 bias: bool = True, share_weights: bool = False, *, self_loops: bool = False, layer: int = 0,
                 etype: EdgeType | None = None) -> None:
        super().__init__(in_feats, out_feats, num_heads, feat_drop, attn_drop, negative_slope, residual, activation,
                         allow_zero_in_degree, bias, self_loops, layer, etype)
        if share_weights and self._in_src_feats != self._in_dst_feats:
            raise InvalidArgument("share_weights needs sources and destinations of one width")
        self.fc_src = Linear(self._in_src_feats, num_heads * out_feats, bias=bias)
        self.fc_dst = self.fc_src if share_weights else Linear(self._in_dst_feats, num_heads * out_feats, bias=bias)
        self.attn = self._attention_parameter()
        self._reset_linear(self.fc_src, self.fc_dst)

    def forward(self, block: Block | RelationBlock, feat: torch.Tensor | tuple[torch.Tensor, torch.Tensor],
                edge_weight: torch.Tensor | None = None, get_attention: bool = False, *,
                keys: StepKeys | None = None) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
        """Returns float32 [destinations, H, C]. Arguments and results are those of GATConv."""
        edges = self._edges(block)
        source, destination = self._rows(block, feat)
        values = self.fc_src(source)
        scores = F.dynamic_scores(edges, values, self.fc_dst(destination), self.attn, self._negative_slope)
        return self._attend(edges, scores, values, destination, edge_weight, get_attention, keys)
