"""Operations on edges for tensors on any device, implemented with torch's operations. They are counterparts of the
kernels of _core with the same arguments. Layers use them for tensors that are not on the CPU.

Messages are gathered, [edges, width], and reduced segment by segment. Edges are sorted by destination; gradients need
them sorted by source, by a stable sort at the first gradient. No operation adds with atomics, so sums have a fixed
order. The bits of dropout are computed with Philox4x32 in 64-bit integers and are equal to those of the kernels: the
same elements are dropped on a GPU and on a CPU.

functional.py checks the arguments. Indices are not checked, because that would wait for the device.
"""

import math
from collections.abc import Iterable

import torch

from espalier.errors import InvalidArgument
from espalier.torch_arrays import to_tensor

_LOW = 0xFFFFFFFF
_WORD = 0xFFFFFFFFFFFFFFFF
_HALF_WORDS = 8  # of a block of Philox


class Edges:
    """The edges of a relation by destination: integers indptr [D + 1] and indices [E], tensors on one device."""

    def __init__(self, indptr: torch.Tensor, indices: torch.Tensor, num_sources: int, self_edges: bool = False) -> None:
        self.num_rows, self.num_sources = len(indptr) - 1, num_sources
        self._offsets, self._sources = indptr.long(), indices.long()
        self._destinations = self._spread()
        if self_edges:
            self._add_self_edges()
        self._transposed: tuple[torch.Tensor, torch.Tensor] | None = None

    @property
    def num_edges(self) -> int:
        return len(self._sources)

    def _spread(self):
        """Returns the destination of each edge: int64 [E]."""
        rows = torch.arange(self.num_rows, device=self._offsets.device)
        return torch.repeat_interleave(rows, torch.diff(self._offsets), output_size=len(self._sources))

    def _add_self_edges(self):
        if self.num_rows > self.num_sources:
            raise InvalidArgument("indptr has more rows than there are sources: the self-edge of row i needs source i")
        rows = torch.arange(self.num_rows, device=self._offsets.device)
        with_own = self._sources.new_empty(self.num_edges + self.num_rows)
        # Before edge e of destination d there are e edges and d self edges.
        with_own[torch.arange(self.num_edges, device=rows.device) + self._destinations] = self._sources
        with_own[self._offsets[1:] + rows] = rows
        self._sources = with_own
        self._offsets = self._offsets + torch.arange(self.num_rows + 1, device=rows.device)
        self._destinations = self._spread()

    def by_source(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns (offsets [N + 1], edges [E]): the edges of source s are edges[offsets[s]:offsets[s + 1]], in the
        order of their destinations."""
        if self._transposed is None:
            ordered, order = torch.sort(self._sources, stable=True)
            bounds = torch.arange(self.num_sources + 1, device=ordered.device)
            self._transposed = torch.searchsorted(ordered, bounds), order
        return self._transposed

    def _by_destination(self, messages, reduce="sum"):
        return _reduced(messages, reduce, self._offsets)

    def _by_source(self, messages):
        offsets, order = self.by_source()
        return _reduced(messages[order], "sum", offsets)

    def sum(self, source, out, *, source_scale=None, initial=None, initial_scale=None, result_scale=None,
            by_source=False, threads=1):
        rows = source if source_scale is None else source * source_scale[:, None]
        if by_source:
            offsets, order = self.by_source()
            total = _reduced(rows[self._destinations[order]], "sum", offsets)
        else:
            total = self._by_destination(rows[self._sources])
        if initial is not None:
            own = initial if initial_scale is None else initial * initial_scale[:, None]
            count = min(len(own), len(total))
            total[:count] += own[:count]
        out.copy_(total if result_scale is None else total * result_scale[:, None])

    def max(self, source, out, winners, *, threads=1):
        messages = source[self._sources]
        largest = self._by_destination(messages, "max")
        is_empty = torch.diff(self._offsets)[:, None] == 0
        wins = (messages == largest[self._destinations]) | messages.isnan()
        # Segment reductions need floats; numbers of edges are exact in float64.
        numbers = torch.arange(self.num_edges, device=source.device)[:, None].double()
        first = self._by_destination(torch.where(wins, numbers, math.inf), "min")
        out.copy_(torch.where(is_empty, 0, largest))
        winners.copy_(torch.where(is_empty, -1, first))

    def max_gradient(self, gradient, winners, of_source, *, threads=1):
        numbers = torch.arange(self.num_edges, device=gradient.device)[:, None]
        won = winners[self._destinations] == numbers
        of_source.copy_(self._by_source(torch.where(won, gradient[self._destinations], 0)))

    def _sums_of_ends(self, source, destination):
        return source[self._sources] + destination[self._destinations]

    def additive_scores(self, source, destination, negative_slope, scores, *, threads=1):
        scores.copy_(_leaky(self._sums_of_ends(source, destination), negative_slope))

    def additive_score_gradients(self, source, destination, negative_slope, gradient, of_source, of_destination, *,
                                 threads=1):
        slopes = gradient * _leaky_slope(self._sums_of_ends(source, destination), negative_slope)
        of_source.copy_(self._by_source(slopes))
        of_destination.copy_(self._by_destination(slopes))

    def dynamic_scores(self, source, destination, attention, negative_slope, scores, *, threads=1):
        sums = self._sums_of_ends(source, destination).view(-1, *attention.shape)
        scores.copy_((_leaky(sums, negative_slope) * attention).sum(2))

    def dynamic_score_gradients(self, source, destination, attention, negative_slope, gradient, of_source,
                                of_destination, of_attention, *, threads=1):
        sums = self._sums_of_ends(source, destination).view(-1, *attention.shape)
        of_attention.copy_((_leaky(sums, negative_slope) * gradient[:, :, None]).sum(0))
        slopes = _leaky_slope(sums, negative_slope) * attention * gradient[:, :, None]
        slopes = slopes.reshape(-1, attention.numel())
        of_source.copy_(self._by_source(slopes))
        of_destination.copy_(self._by_destination(slopes))

    def dots(self, heads, source, destination, dots, *, threads=1):
        products = source[self._sources] * destination[self._destinations]
        dots.copy_(products.view(-1, heads, source.shape[1] // heads).sum(2))

    def weighted_sum(self, weights, source, out, *, by_source=False, threads=1):
        ends = self._destinations if by_source else self._sources
        messages = source[ends].view(-1, weights.shape[1], source.shape[1] // weights.shape[1]) * weights[:, :, None]
        messages = messages.reshape(-1, source.shape[1])
        out.copy_(self._by_source(messages) if by_source else self._by_destination(messages))

    def softmax(self, scores, weights, *, threads=1):
        largest = self._by_destination(scores, "max")
        exponents = torch.exp(scores - largest[self._destinations])
        weights.copy_(exponents / self._by_destination(exponents)[self._destinations])

    def softmax_gradient(self, weights, gradient, of_scores, *, threads=1):
        products = weights * gradient
        of_scores.copy_(products - weights * self._by_destination(products)[self._destinations])

    def dropout_factors(self, probability, key, source_ids, destination_ids, factors, *, threads=1):
        sources = to_tensor(source_ids).to(factors.device)[self._sources]
        destinations = to_tensor(destination_ids).to(factors.device)[self._destinations]
        heads = factors.shape[1]
        parts = [_half_words(_philox(_hash_combine(key, block), sources, destinations))
                 for block in range(-(-heads // _HALF_WORDS))]
        factors.copy_(_factors(torch.cat(parts, 1)[:, :heads], probability))


def bias_relu_dropout(x: torch.Tensor, bias: torch.Tensor | None, probability: float,
                      masks: Iterable[tuple[int, torch.Tensor]], passes: torch.Tensor, *, threads: int = 1) -> None:
    value = (x if bias is None else x + bias) * _kept_scale(probability)
    is_on = (value > 0) | value.isnan()  # as in torch's ReLU
    if probability > 0:
        is_on &= _row_half_words(masks, x) >= _threshold(probability)
    x.copy_(torch.where(is_on, value, 0))
    passes.copy_(is_on)


def bias_relu_dropout_gradient(gradient: torch.Tensor, passes: torch.Tensor, probability: float, of_x: torch.Tensor,
                               of_bias: torch.Tensor | None, *, threads: int = 1) -> None:
    of_x.copy_(gradient * (_kept_scale(probability) * passes))
    if of_bias is not None:
        of_bias.copy_(of_x.sum(0))


def dropout_factors(probability: float, masks: Iterable[tuple[int, torch.Tensor]], factors: torch.Tensor, *,
                    threads: int = 1) -> None:
    factors.copy_(_factors(_row_half_words(masks, factors), probability))


def _reduced(messages, reduce, offsets):
    """Returns the sums, maxima or minima of messages[offsets[i]:offsets[i + 1]], [segments, width]."""
    if not messages.numel():
        return messages.new_zeros(len(offsets) - 1, messages.shape[1])
    return torch.segment_reduce(messages, reduce, offsets=offsets, axis=0, unsafe=True)


def _leaky(x, slope):
    return torch.where(x > 0, x, slope * x)


def _leaky_slope(x, slope):
    return torch.where(x > 0, 1.0, slope)


def _threshold(probability):
    """Returns the half-word below which an element is dropped, as in services/kernels/dropout_half_words.h."""
    return min(math.floor(probability * 65536 + 0.5), 65535)


def _kept_scale(probability):
    return 65536 / (65536 - _threshold(probability))


def _factors(half_words, probability):
    return (half_words >= _threshold(probability)) * _kept_scale(probability)


def _row_half_words(masks, like):
    """Returns the half-words of the elements of a matrix: int64 [rows, width]. masks: (key, original ids) for each node
    type; the rows of the types are consecutive."""
    width, parts = like.shape[1], []
    blocks = torch.arange(-(-width // _HALF_WORDS), device=like.device)
    for key, ids in masks:
        rows = to_tensor(ids).to(like.device)[:, None].expand(-1, len(blocks))
        parts.append(_half_words(_philox(key, blocks.expand_as(rows), rows)).reshape(len(rows), -1)[:, :width])
    count = sum(map(len, parts))
    if count != len(like):
        raise InvalidArgument(f"masks have {count} original ids for {len(like)} rows")
    return torch.cat(parts) if parts else like.new_zeros(like.shape, dtype=torch.int64)


def _half_words(words):
    """Returns the eight half-words of blocks of Philox, the low half of each word first: int64 [..., 8]."""
    return torch.stack([half for word in words for half in (word & 0xFFFF, word >> 16)], -1)


def _philox(key, low, high):
    """Returns the four words of Philox4x32-10 (Salmon, Moraes, Dror, Shaw, SC 2011) for counters of int64 halves. A
    product of two words wraps around 2^63, and its bits are those of the unsigned product."""
    c0, c1, c2, c3 = low & _LOW, low >> 32 & _LOW, high & _LOW, high >> 32 & _LOW
    k0, k1 = key & _LOW, key >> 32
    for _ in range(10):
        p0, p1 = c0 * 0xD2511F53, c2 * 0xCD9E8D57
        c0, c1, c2, c3 = (p1 >> 32 & _LOW) ^ c1 ^ k0, p1 & _LOW, (p0 >> 32 & _LOW) ^ c3 ^ k1, p0 & _LOW
        k0, k1 = k0 + 0x9E3779B9 & _LOW, k1 + 0xBB67AE85 & _LOW
    return c0, c1, c2, c3


def _hash_combine(key, value):
    """HashCombine of services/base/hash.h for Python integers."""
    z = (key * 0x9E3779B97F4A7C15 & _WORD) ^ value
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & _WORD
    z = (z ^ z >> 27) * 0x94D049BB133111EB & _WORD
    return z ^ z >> 31
