"""Operations on the edges of a block, with gradients. On CPUs they run in the library's kernels, in float32 on
torch.get_num_threads() threads; results do not depend on the number of threads. On other devices they run in torch's
operations, without atomics (device_kernels.py), with the same dropout masks.

Shapes: N source rows, D destination rows, E edges, H heads of C columns each; a matrix of heads is [rows, H * C].
InvalidArgument: a CPU tensor is not float32 or has the wrong shape, or tensors and edges are on different devices.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.autograd.function import once_differentiable

from espalier import _core
from espalier.block import Block
from espalier.errors import InvalidArgument
from espalier.nn import device_kernels
from espalier.nn.buffers import uninitialized
from espalier.torch_arrays import to_tensor
from espalier.typing import EdgeType, Ids, Values

if TYPE_CHECKING:
    from espalier.nn.blocks import RelationBlock


def keep_memory() -> None:
    """Makes this process keep all memory that it frees, as the C++ trainer does. It helps models with other large
    tensors than the activations and gradients of layers, which are kept without it (set_buffer_limit). Call it before
    the first step. The process then keeps the memory of its largest step."""
    _core.keep_memory()


def _kernels(device):
    """Returns the module with the operations for tensors on `device`."""
    return _core if device.type == "cpu" else device_kernels


def _words(values, what):
    """Returns row numbers as a dense int32 array."""
    array = np.asarray(values)
    if array.dtype == np.int32:
        return np.ascontiguousarray(array)
    if array.size and not np.issubdtype(array.dtype, np.integer):
        raise InvalidArgument(f"{what} must be integers, not {array.dtype}")
    if array.size and (array.min() < 0 or array.max() > np.iinfo(np.int32).max):
        raise InvalidArgument(f"{what} must be from 0 to below 2**31")
    return np.ascontiguousarray(array, dtype=np.int32)


def csc_of(block: "Block | RelationBlock", *etype: EdgeType) -> tuple[Any, Any]:
    """Returns block.csc() or block.csc(etype) on the device of the block. (In espalier.dgl, `csc` itself returns
    arrays.)"""
    arrays = block.csc(*etype)
    device = getattr(block, "device", None)
    if device is None or torch.device(device).type == "cpu":
        return arrays
    indptr, indices = (to_tensor(array).to(device) for array in arrays)
    return indptr, indices


class Edges:
    """The edges of one relation of a block: `indptr` [D + 1] and `indices` [E] as returned by `Block.csc`, of any
    integer dtype. Source rows are in [0, num_src). Arrays and CPU tensors are checked. Edges of tensors on another
    device are on that device, and are not checked, because that would wait for the device.

    self_loops: whether each destination d also has an edge from source row d, after its other edges; E includes these.
    The arrays are copied, so later changes of them have no effect. InvalidArgument: an index is out of range.
    """

    def __init__(self, indptr: Ids, indices: Ids, num_src: int, self_loops: bool = False) -> None:
        self.device = indptr.device if isinstance(indptr, torch.Tensor) else torch.device("cpu")
        kernels = _kernels(self.device)
        self.indptr: torch.Tensor | np.ndarray
        self.indices: torch.Tensor | np.ndarray  # without self loops, like indptr
        if kernels is _core:
            self.indptr, self.indices = _words(indptr, "indptr"), _words(indices, "indices")
        else:
            self.indptr, self.indices = to_tensor(indptr), to_tensor(indices)
        self._core = kernels.Edges(self.indptr, self.indices, num_src, self_loops)
        self.self_loops = self_loops

    @classmethod
    def of_block(cls, block: "Block | RelationBlock", self_loops: bool = False) -> "Edges":
        """Returns the Edges of a block with one relation or of a RelationBlock."""
        return cls(*csc_of(block), block.num_src_nodes(), self_loops)

    @property
    def num_dst(self) -> int:
        return self._core.num_rows

    @property
    def num_src(self) -> int:
        return self._core.num_sources

    @property
    def num_edges(self) -> int:
        return self._core.num_edges

    def in_degrees(self) -> torch.Tensor:
        """Number of edges of each destination, without self loops: float32 [D]."""
        return torch.diff(to_tensor(self.indptr)).float()

    def out_degrees(self) -> torch.Tensor:
        """Number of edges of each source, without self loops: float32 [N]."""
        return torch.bincount(to_tensor(self.indices).long(), minlength=self.num_src).float()

    def check_device(self, *tensors: torch.Tensor) -> None:
        """Raises InvalidArgument if one of the tensors is on another device than the edges."""
        for tensor in tensors:
            if tensor.device != self.device:
                raise InvalidArgument(f"the edges are on {self.device} and a tensor is on {tensor.device}: move the "
                                      "batch with batch.to(device), or give the loader a device")


def _threads():
    return {"threads": min(torch.get_num_threads(), 1024)}  # the maximum of the kernels


def _dense(x):
    return x.detach().contiguous()


class _Sum(torch.autograd.Function):
    # Computes out[d] = result[d] * (self_scale[d] * x[d] + sum over edges of source[s] * x[s]). A scale that is None is
    # 1.
    @staticmethod
    def forward(ctx, x, edges, source, with_self, self_scale, result):
        ctx.edges, ctx.scales, ctx.with_self = edges, (source, self_scale, result), with_self
        rows = _dense(x)
        out = uninitialized(rows, (edges.num_dst, rows.shape[1]))
        own = {"initial": rows[:edges.num_dst], "initial_scale": self_scale} if with_self else {}
        edges._core.sum(rows, out, source_scale=source, result_scale=result, **own, **_threads())
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        # The gradient is the same sum by source. The source's scale is a factor of the whole sum here, so the scale of
        # the row's own part is divided by it.
        source, self_scale, result = ctx.scales
        gradient = gradient.contiguous()
        of_x = uninitialized(gradient, (ctx.edges.num_src, gradient.shape[1]))
        own = {}
        if ctx.with_self:
            scale = result if self_scale is None else self_scale if result is None else result * self_scale
            if source is not None:
                scale = (1 if scale is None else scale) / source[:ctx.edges.num_dst]
            own = {"initial": gradient, "initial_scale": scale}
        ctx.edges._core.sum(gradient, of_x, source_scale=result, result_scale=source, by_source=True, **own,
                            **_threads())
        return of_x, None, None, None, None, None


def _scale(values, what, edges, size):
    """Returns scales on the device of the edges: float32 [size]."""
    if values is None:
        return None
    tensor = values.detach() if isinstance(values, torch.Tensor) else torch.from_numpy(np.array(values, np.float32))
    tensor = tensor.to(edges.device, torch.float32).contiguous()
    if tensor.shape != (size,):
        raise InvalidArgument(f"{what} must have the shape [{size}], not {list(tensor.shape)}")
    return tensor


def segment_sum(edges: Edges, x: torch.Tensor, source_scale: Values | None = None, self_scale: Values | None = None,
                result_scale: Values | None = None) -> torch.Tensor:
    """Returns result_scale[d] * (self_scale[d] * x[d] + sum over the edges from s to d of source_scale[s] * x[s]): [N,
    F] to [D, F]. Without self_scale, a destination's own row is not added; other scales default to 1. Scales have shape
    [D] or [N] and get no gradient; those of sources must be positive. A destination without edges gets zeros."""
    edges.check_device(x)
    source = _scale(source_scale, "source_scale", edges, edges.num_src)
    own = _scale(self_scale, "self_scale", edges, edges.num_dst)
    result = _scale(result_scale, "result_scale", edges, edges.num_dst)
    return _Sum.apply(x, edges, source, own is not None, own, result)


def _inverse(counts):
    return torch.where(counts > 0, 1 / counts, 0)


def segment_mean(edges: Edges, x: torch.Tensor, with_self: bool = False) -> torch.Tensor:
    """Returns the mean of the sources of each destination, or zeros if it has none: [N, F] to [D, F]. with_self:
    whether the mean includes the destination's own row."""
    edges.check_device(x)
    return _Sum.apply(x, edges, None, with_self, None, _inverse(edges.in_degrees() + with_self))


class _SelfAndMean(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, edges):
        ctx.edges, ctx.scale = edges, _inverse(edges.in_degrees())
        rows, width = _dense(x), x.shape[1]
        out = uninitialized(rows, (edges.num_dst, 2 * width))
        out[:, :width] = rows[:edges.num_dst]
        edges._core.sum(rows, out[:, width:], result_scale=ctx.scale, **_threads())
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        gradient = gradient.contiguous()
        width = gradient.shape[1] // 2
        of_x = uninitialized(gradient, (ctx.edges.num_src, width))
        ctx.edges._core.sum(gradient[:, width:], of_x, source_scale=ctx.scale, initial=gradient[:, :width],
                            by_source=True, **_threads())
        return of_x, None


def self_and_mean(edges: Edges, x: torch.Tensor) -> torch.Tensor:
    """Returns each destination's own row concatenated with the mean of its sources, for one matrix product of both: [N,
    F] to [D, 2 F]."""
    edges.check_device(x)
    return _SelfAndMean.apply(x, edges)


class _Max(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, edges):
        rows = _dense(x)
        out = uninitialized(rows, (edges.num_dst, rows.shape[1]))
        ctx.edges, ctx.winners = edges, rows.new_zeros(out.shape, dtype=torch.int32)
        edges._core.max(rows, out, ctx.winners, **_threads())
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        of_x = uninitialized(gradient, (ctx.edges.num_src, gradient.shape[1]))
        ctx.edges._core.max_gradient(gradient.contiguous(), ctx.winners, of_x, **_threads())
        return of_x, None


def segment_max(edges: Edges, x: torch.Tensor) -> torch.Tensor:
    """Returns the largest value of the sources of each destination in each column, or zeros if it has none: [N, F] to
    [D, F]. Among equal values, the first edge gets the gradient."""
    edges.check_device(x)
    return _Max.apply(x, edges)


class _AdditiveScores(torch.autograd.Function):
    @staticmethod
    def forward(ctx, source, destination, edges, negative_slope):
        source, destination = _dense(source), _dense(destination)
        ctx.edges, ctx.slope = edges, negative_slope
        ctx.save_for_backward(source, destination)
        scores = uninitialized(source, (edges.num_edges, source.shape[1]))
        edges._core.additive_scores(source, destination, negative_slope, scores, **_threads())
        return scores

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        source, destination = ctx.saved_tensors
        of_source, of_destination = uninitialized(source, source.shape), uninitialized(destination, destination.shape)
        ctx.edges._core.additive_score_gradients(source, destination, ctx.slope, gradient.contiguous(), of_source,
                                                 of_destination, **_threads())
        return of_source, of_destination, None, None


def additive_scores(edges: Edges, source: torch.Tensor, destination: torch.Tensor,
                    negative_slope: float = 0.2) -> torch.Tensor:
    """Returns LeakyReLU(source[s] + destination[d]) of each edge: [N, H], [D, H] to [E, H] (Velickovic et al. 2018)."""
    edges.check_device(source, destination)
    return _AdditiveScores.apply(source, destination, edges, negative_slope)


class _DynamicScores(torch.autograd.Function):
    @staticmethod
    def forward(ctx, source, destination, attention, edges, negative_slope):
        source, destination, attention = _dense(source), _dense(destination), _dense(attention)
        ctx.edges, ctx.slope = edges, negative_slope
        ctx.save_for_backward(source, destination, attention)
        scores = uninitialized(source, (edges.num_edges, attention.shape[0]))
        edges._core.dynamic_scores(source, destination, attention, negative_slope, scores, **_threads())
        return scores

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        results = [uninitialized(tensor, tensor.shape) for tensor in ctx.saved_tensors]
        ctx.edges._core.dynamic_score_gradients(*ctx.saved_tensors, ctx.slope, gradient.contiguous(), *results,
                                                **_threads())
        return (*results, None, None)


def dynamic_scores(edges: Edges, source: torch.Tensor, destination: torch.Tensor, attention: torch.Tensor,
                   negative_slope: float = 0.2) -> torch.Tensor:
    """Returns attention . LeakyReLU(source[s] + destination[d]) of each edge, head by head: [N, H * C], [D, H * C],
    attention [H, C] to [E, H] (Brody, Alon, Yahav 2022)."""
    edges.check_device(source, destination, attention)
    return _DynamicScores.apply(source, destination, attention, edges, negative_slope)


class _Dots(torch.autograd.Function):
    @staticmethod
    def forward(ctx, source, destination, edges, heads):
        source, destination = _dense(source), _dense(destination)
        ctx.edges = edges
        ctx.save_for_backward(source, destination)
        dots = uninitialized(source, (edges.num_edges, heads))
        edges._core.dots(heads, source, destination, dots, **_threads())
        return dots

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        source, destination = ctx.saved_tensors
        gradient = gradient.contiguous()
        of_source, of_destination = uninitialized(source, source.shape), uninitialized(destination, destination.shape)
        ctx.edges._core.weighted_sum(gradient, source, of_destination, **_threads())
        ctx.edges._core.weighted_sum(gradient, destination, of_source, by_source=True, **_threads())
        return of_source, of_destination, None, None


def edge_dots(edges: Edges, heads: int, source: torch.Tensor, destination: torch.Tensor) -> torch.Tensor:
    """Returns source[s] . destination[d] of each edge, head by head: [N, H * C], [D, H * C] to [E, H]. Counterpart of
    DGL's u_dot_v."""
    edges.check_device(source, destination)
    return _Dots.apply(source, destination, edges, heads)


class _Softmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, scores, edges):
        scores = _dense(scores)
        weights = uninitialized(scores, scores.shape)
        edges._core.softmax(scores, weights, **_threads())
        ctx.edges = edges
        ctx.save_for_backward(weights)
        return weights

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        weights, = ctx.saved_tensors
        of_scores = uninitialized(weights, weights.shape)
        ctx.edges._core.softmax_gradient(weights, gradient.contiguous(), of_scores, **_threads())
        return of_scores, None


def edge_softmax(edges: Edges, scores: torch.Tensor) -> torch.Tensor:
    """Returns the softmax of the scores over the edges of each destination: [E, H] to [E, H]."""
    edges.check_device(scores)
    return _Softmax.apply(scores, edges)


class _WeightedSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx, weights, x, edges):
        weights, x = _dense(weights), _dense(x)
        ctx.edges = edges
        ctx.save_for_backward(weights, x)
        out = uninitialized(x, (edges.num_dst, x.shape[1]))
        edges._core.weighted_sum(weights, x, out, **_threads())
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        weights, x = ctx.saved_tensors
        gradient, of_weights, of_x = gradient.contiguous(), None, None
        if ctx.needs_input_grad[0]:
            of_weights = uninitialized(weights, weights.shape)
            ctx.edges._core.dots(weights.shape[1], x, gradient, of_weights, **_threads())
        if ctx.needs_input_grad[1]:
            of_x = uninitialized(x, x.shape)
            ctx.edges._core.weighted_sum(weights, gradient, of_x, by_source=True, **_threads())
        return of_weights, of_x, None


def weighted_sum(edges: Edges, weights: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Returns the sum over each destination's edges of weights[e] * x[s], for each head: [E, H], [N, H * C] to [D, H *
    C]. For one weight per edge, weights are [E, 1]. Weights get gradients too."""
    edges.check_device(weights, x)
    return _WeightedSum.apply(weights, x, edges)


def drop_edges(edges: Edges, weights: torch.Tensor, probability: float, key: int, source_ids: np.ndarray | torch.Tensor,
               destination_ids: np.ndarray | torch.Tensor) -> torch.Tensor:
    """Returns weights [E, H] with elements dropped, and the others divided by the probability that they are kept. The
    choice is a function of (key, original ids of both endpoints, head), as in the C++ trainer. source_ids,
    destination_ids: int64 [N] and [D]."""
    if probability == 0:
        return weights
    edges.check_device(weights)
    factors = uninitialized(weights, weights.shape)
    edges._core.dropout_factors(probability, key, source_ids, destination_ids, factors, **_threads())
    return weights * factors


class _BiasReluDropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, bias, probability, masks):
        ctx.mark_dirty(x)
        passes = uninitialized(x, x.shape, torch.uint8)
        _kernels(x.device).bias_relu_dropout(x.detach(), None if bias is None else _dense(bias), probability, masks,
                                             passes, **_threads())
        ctx.passes, ctx.probability = passes, probability
        return x

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        gradient = gradient.contiguous()
        of_x = uninitialized(gradient, gradient.shape)
        of_bias = gradient.new_empty(gradient.shape[1]) if ctx.needs_input_grad[1] else None
        _kernels(gradient.device).bias_relu_dropout_gradient(gradient, ctx.passes, ctx.probability, of_x, of_bias,
                                                             **_threads())
        return of_x, of_bias, None, None


def bias_relu_dropout_(x: torch.Tensor, bias: torch.Tensor | None = None, probability: float = 0,
                       masks: Iterable[tuple[int, np.ndarray | torch.Tensor]] = ()) -> torch.Tensor:
    """Computes dropout(relu(x + bias)) in place, in one pass over the memory, and returns x. x: [rows, F], contiguous,
    not a leaf that requires a gradient. bias: [F] or None. masks: (key, original ids int64 [n]) for each node type; x
    has the rows of the types consecutively. Required if probability > 0."""
    return _BiasReluDropout.apply(x, bias, probability, list(masks))


def drop_elements(x: torch.Tensor, probability: float,
                  masks: Iterable[tuple[int, np.ndarray | torch.Tensor]]) -> torch.Tensor:
    """Returns x [rows, F] with elements dropped and the others scaled. masks: as in bias_relu_dropout_."""
    if probability == 0:
        return x
    factors = uninitialized(x, x.shape)
    _kernels(x.device).dropout_factors(probability, list(masks), factors, **_threads())
    return x * factors
