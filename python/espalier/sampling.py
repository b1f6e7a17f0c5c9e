"""Samples one hop, and random walks."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from espalier.block import Block
from espalier.errors import InvalidArgument
from espalier.types import to_ids, to_int
from espalier.typing import EdgeType, Ids, NodeIds

if TYPE_CHECKING:
    from espalier.graph import DistGraph


class Frontier:
    """The in-edges that one hop sampled, with global ids.

    `edges(etype)` returns (sources, destinations), and `edge_ids(etype)` their ids. Edges with the same destination are
    adjacent.
    """

    def __init__(self, schema, relations):
        self._schema = schema
        self._relations = {number: arrays for number, *arrays in relations}

    @property
    def canonical_etypes(self) -> list[tuple[str, str, str]]:
        return [self._schema.edge_types[number] for number in sorted(self._relations)]

    def _relation(self, etype):
        number = self._schema.edge_type(etype)
        if number not in self._relations:
            raise InvalidArgument(f"no edges of type {etype!r} were sampled")
        return self._relations[number]

    def num_edges(self, etype: EdgeType | None = None) -> int:
        return len(self._relation(etype)[2])

    def edges(self, etype: EdgeType | None = None) -> tuple[np.ndarray, np.ndarray]:
        destinations, offsets, sources, _ = self._relation(etype)
        return sources, np.repeat(destinations, np.diff(offsets))

    def edge_ids(self, etype: EdgeType | None = None) -> np.ndarray:
        return self._relation(etype)[3]

    def destinations(self) -> dict[str, np.ndarray]:
        """Returns {node type: the distinct nodes with sampled in-edges, ascending}."""
        found = {}
        for number in self._relations:
            _, ends = Frontier.edges(self, self._schema.edge_types[number])  # arrays, also in a subclass
            found.setdefault(self._schema.edge_types[number][2], []).append(ends)
        return {ntype: np.unique(np.concatenate(ends)) for ntype, ends in found.items()}


def sample_neighbors(g: "DistGraph", nodes: NodeIds, fanout: int | Mapping[Any, int], edge_dir: str = "in",
                     prob: str | None = None, replace: bool = False, *, seed: int = 0, hop: int = 0,
                     method: str = "Neighbor") -> Frontier:
    """Samples in-edges of nodes. Counterpart of DGL's dgl.distributed.sample_neighbors.

    nodes: distinct ids, or {node type: ids}. fanout: number of in-edges per node and edge type, -1 for all, or {edge
    type: number}. prob: edge column with weights. The same `seed` and `hop` sample the same edges with any
    partitioning; the hops of a mini-batch should have different values of `hop`. method: "Neighbor", "Labor" or "Last".
    """
    if edge_dir != "in":
        raise InvalidArgument("only in-edges can be sampled; for out-edges add reverse edges to the graph")
    return Frontier(g._schema, g._core.sample_neighbors(g._schema.by_node_type(nodes), g._schema.fanouts(fanout),
                                                        to_int(seed, "seed"), to_int(hop, "hop", most=2**31), replace, prob or "", method, None))


def in_subgraph(g: "DistGraph", nodes: NodeIds) -> Frontier:
    """Returns all in-edges, of all edge types, of nodes (ids or {node type: ids}) as a Frontier."""
    return Frontier(g._schema, g._core.in_subgraph(g._schema.by_node_type(nodes), None))


def _in_order(of, offsets, wanted):
    """Returns (indptr, edges) with the in-edges of `of`, which may repeat, grouped by the distinct nodes `wanted`."""
    order = np.argsort(wanted, kind="stable")
    place = np.searchsorted(wanted, of, sorter=order)
    known = place < len(wanted)
    known[known] = wanted[order[place[known]]] == of[known]
    degrees = np.diff(offsets)
    if degrees[~known].any():
        raise InvalidArgument("an edge of the frontier ends at a node that dst_nodes lacks")
    rows = np.repeat(order[np.where(known, place, 0)], degrees) if len(wanted) else np.zeros(0, np.int64)
    indptr = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=len(wanted)))))
    return indptr.astype(np.int32), np.argsort(rows, kind="stable")


def to_block(g: "DistGraph", frontier: Frontier, dst_nodes: NodeIds | None = None) -> Block:
    """Converts a frontier to a block. Rows of `dst_nodes` come first, then the other sources by first occurrence.

    dst_nodes: ids or {node type: ids}, in any order: all destinations of the frontier's edges, and possibly other
    nodes. None: only the destinations. InvalidArgument: nodes repeat, or the destination of an edge is missing.
    """
    schema = g._schema
    if dst_nodes is None:
        dst_nodes = frontier.destinations()
    given = schema.by_node_type(dst_nodes)
    num_types = len(schema.node_types)
    destinations = [given.get(number, np.zeros(0, np.int64)) for number in range(num_types)]
    relations = sorted(frontier._relations.items())
    nodes, rows_of = [], {}
    for number in range(num_types):
        parts = [(edge_type, arrays[2]) for edge_type, arrays in relations if schema.source_of(edge_type) == number]
        all_ids = np.concatenate([destinations[number], *(ids for _, ids in parts)])
        unique, first, inverse = np.unique(all_ids, return_index=True, return_inverse=True)
        rank = np.empty(len(unique), np.int32)
        order = np.argsort(first, kind="stable")
        rank[order] = np.arange(len(unique), dtype=np.int32)
        nodes.append(unique[order])
        rows = rank[inverse]
        begin = len(destinations[number])
        if not np.array_equal(rows[:begin], np.arange(begin)):
            raise InvalidArgument("dst_nodes must be distinct")
        for edge_type, ids in parts:
            rows_of[edge_type] = rows[begin:begin + len(ids)]
            begin += len(ids)
    blocks = {}
    for edge_type, (of, offsets, _, edge_ids) in relations:
        wanted = destinations[schema.destination_of(edge_type)]
        indptr, rows = offsets.astype(np.int32), rows_of[edge_type]
        if not np.array_equal(of, wanted):
            indptr, edges = _in_order(of, offsets, wanted)
            rows, edge_ids = rows[edges], edge_ids[edges]
        blocks[edge_type] = (indptr, rows, edge_ids)
    return Block(schema, blocks, [len(ids) for ids in nodes], [len(ids) for ids in destinations], nodes)


def random_walk(g: "DistGraph", nodes: Ids, metapath: Iterable[EdgeType], *, walks_per_node: int = 1,
                restart_prob: float | Sequence[float] = (), prob: str | None = None, seed: int = 0) -> np.ndarray:
    """Returns random walks against the direction of edges: int64 [nodes * walks_per_node, len(metapath) + 1], -1 after
    the end of a walk. metapath: the edge type of each step. restart_prob: the probability that a walk ends before a
    step, one for all steps or one for each."""
    numbers = [g._schema.edge_type(etype) for etype in metapath]
    chances = list(restart_prob) if np.ndim(restart_prob) else [float(restart_prob)] * len(numbers)
    return g._core.random_walk(to_ids(nodes, "nodes"), numbers, to_int(walks_per_node, "walks_per_node", 1, 2**31),
                               chances, prob or "", to_int(seed, "seed"), None)


def pinsage_neighbors(g: "DistGraph", nodes: Ids, metapath: Iterable[EdgeType], *, num_traversals: int = 1,
                      termination_prob: float = 0.0, num_random_walks: int = 10, num_neighbors: int = 3,
                      prob: str | None = None, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns (offsets, neighbors, visits). neighbors[offsets[i]:offsets[i + 1]] are the nodes that random walks from
    node i visit most often, and visits their numbers of visits. Counterpart of DGL's PinSAGESampler."""
    numbers = [g._schema.edge_type(etype) for etype in metapath]
    counts = [to_int(number, what, 1, 2**31)
              for number, what in ((num_traversals, "num_traversals"), (num_random_walks, "num_random_walks"),
                                   (num_neighbors, "num_neighbors"))]
    return g._core.pinsage_neighbors(to_ids(nodes, "nodes"), numbers, counts[0], termination_prob, counts[1], counts[2],
                                     prob or "", to_int(seed, "seed"), None)
