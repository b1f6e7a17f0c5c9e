"""Blocks of random edges, and the formulas of layers on them, written with torch's own operations in float64."""

import numpy as np
import torch

from espalier.block import Block
from espalier.types import Schema


def random_block(num_src=9, num_dst=5, num_edges=14, seed=0):
    """Returns a block with one relation in which destination 1 has no in-edges and one edge occurs twice."""
    return typed_block({"node": (num_src, num_dst)}, {("node", "edge", "node"): num_edges}, seed)


def typed_block(counts, relations, seed=0):
    """Returns a block of random edges. counts: {node type: (sources, destinations)}; relations: {canonical edge type:
    number of edges}."""
    rng = np.random.default_rng(seed)
    schema = Schema(counts, relations)
    arrays = {}
    for number, ((source, _, destination), num_edges) in enumerate(relations.items()):
        rows = rng.integers(0, counts[destination][1], num_edges)
        rows = np.sort(np.where(rows == 1, 0, rows))
        indices = rng.integers(0, counts[source][0], num_edges).astype(np.int32)
        if num_edges > 1 and rows[0] == rows[1]:
            indices[1] = indices[0]
        indptr = np.searchsorted(rows, np.arange(counts[destination][1] + 1)).astype(np.int32)
        arrays[number] = (indptr, indices, np.zeros(0, np.int64))
    sources, destinations = zip(*counts.values())
    nodes = [np.arange(count) for count in sources]
    return Block(schema, arrays, list(sources), list(destinations), nodes)


def ends(block, etype=None, self_loops=False):
    """Returns (sources, destinations) of the edges as int64 tensors. Self loops follow the other edges of their row."""
    sources, rows = (torch.from_numpy(array) for array in block.edges(etype))
    if self_loops:
        own = torch.arange(block.num_dst_nodes())
        sources, rows = torch.cat([sources, own]), torch.cat([rows, own])
        order = torch.argsort(rows, stable=True)
        sources, rows = sources[order], rows[order]
    return sources, rows


def sums(messages, rows, num_dst):
    return messages.new_zeros(num_dst, *messages.shape[1:]).index_add(0, rows, messages)


def means(messages, rows, num_dst):
    counts = torch.bincount(rows, minlength=num_dst).clamp(min=1).to(messages.dtype)
    return sums(messages, rows, num_dst) / counts.view(-1, *[1] * (messages.dim() - 1))


def softmax(scores, rows, num_dst):
    """Returns the softmax over the edges of each destination: [E, H]."""
    exponents = torch.exp(scores)
    return exponents / sums(exponents, rows, num_dst)[rows]


def maxima(messages, rows, num_dst):
    found = [messages[rows == row] for row in range(num_dst)]
    return torch.stack([part.max(0)[0] if len(part) else messages.new_zeros(messages.shape[1]) for part in found])
