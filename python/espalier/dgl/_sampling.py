"""Sampling of one hop, and shares of ranks."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import espalier as ep
from espalier.dgl import _session
from espalier.dgl._absent import refuse
from espalier.dgl._arrays import to_numpy, to_torch
from espalier.dgl._blocks import Frontier
from espalier.dgl._graph import DistGraph, GraphPartitionBook
from espalier.dgl._rows import Column
from espalier.typing import EdgeType, Ids, NodeIds, SupportsArray

if TYPE_CHECKING:
    import torch


def _distinct(nodes):
    """Returns the distinct nodes, in the order of their first occurrence."""
    if isinstance(nodes, dict):
        return {name: _distinct(ids) for name, ids in nodes.items()}
    ids = np.asarray(to_numpy(nodes)).reshape(-1)
    values, first = np.unique(ids, return_index=True)
    return ids if len(values) == len(ids) else ids[np.sort(first)]


def fanout_of(fanout: int | dict[Any, int]) -> int | dict[Any, int]:
    """Returns `fanout` without the edge types of which no edges are sampled."""
    return {etype: number for etype, number in fanout.items() if number != 0} if isinstance(fanout, dict) else fanout


def sample_neighbors(g: DistGraph, nodes: NodeIds, fanout: int | dict[Any, int], edge_dir: str = "in",
                     prob: str | None = None, replace: bool = False, etype_sorted: bool = True,
                     output_device: "str | torch.device | None" = None, use_graphbolt: bool = False) -> Frontier:
    """Samples in-edges of nodes, different ones in each call. Counterpart of DGL's distributed.sample_neighbors.

    nodes: ids or {node type: ids}, which may repeat: a node's edges are sampled once. fanout: number of in-edges per
    node and edge type, -1 for all, or {edge type: number}. prob: an edge column with weights, or a mask. The same
    program with the same `dgl.seed` samples the same edges with any partitioning. output_device: device of the
    frontier's tensors and those of its block. etype_sorted, use_graphbolt: no effect; they describe how DGL stores
    edges.
    """
    return Frontier(g, ep.sample_neighbors(g, _distinct(nodes), fanout_of(fanout), edge_dir, prob, replace,
                                           seed=_session.next_seed(g)), output_device)


def sample_etype_neighbors(g: DistGraph, nodes: NodeIds, fanout: Ids | dict[Any, int], edge_dir: str = "in",
                           prob: str | None = None, replace: bool = False, etype_sorted: bool = True,
                           output_device: "str | torch.device | None" = None, use_graphbolt: bool = False) -> Frontier:
    """Like sample_neighbors, but fanout may also be a list with a number for each edge type in the order of
    `g.canonical_etypes`."""
    if np.ndim(to_numpy(fanout)) == 1 and not isinstance(fanout, dict):
        numbers = [int(number) for number in fanout]
        if len(numbers) != len(g.canonical_etypes):
            raise ep.InvalidArgument(f"{len(numbers)} fan-outs of {len(g.canonical_etypes)} edge types")
        fanout = dict(zip(g.canonical_etypes, numbers))
    if isinstance(prob, (list, tuple)):
        refuse("prob for each edge type", "name one column, which every edge type that is sampled has")
    return sample_neighbors(g, nodes, fanout, edge_dir, prob, replace, output_device=output_device)


def in_subgraph(g: DistGraph, nodes: NodeIds) -> Frontier:
    """Returns all in-edges of nodes."""
    return Frontier(g, ep.in_subgraph(g, _distinct(nodes)))


def find_edges(g: DistGraph, edge_ids: Ids,
               etype: EdgeType | None = None) -> "tuple[torch.Tensor, torch.Tensor]":
    """Returns (sources, destinations) of edges."""
    return g.find_edges(edge_ids, etype)


def _items(items, partition_book, kind, name, total_of):
    """Returns (graph, argument for espalier's splits, type). items: a mask of all nodes or edges, as in DGL. kind:
    "node" or "edge"."""
    graph = items._graph if isinstance(items, Column) else _session.current_graph(
        None if partition_book is None else partition_book._graph)
    if isinstance(items, (ep.NodesOfSplit, ep.EdgesOfSplit)):
        return graph, items, name
    if isinstance(items, Column):
        policy = items.part_policy
        if policy is None or policy.kind != kind:
            raise ep.InvalidArgument(f"{items.name!r} is not a mask of {kind}s: its rows are "
                                     + ("of no type" if policy is None else f"those of {policy.policy_str}"))
        if name not in ("_N", "_E") and _number(graph, kind, name) != policy.number:
            raise ep.InvalidArgument(f"{items.name!r} is a mask of {policy.policy_str}, not of {name!r}; leave the type "
                                     "out, or give the mask of that type")
        return graph, items.split or items._source, policy.type_name
    mask = np.asarray(to_numpy(items)).reshape(-1)
    if len(mask) != total_of(graph):
        raise ep.InvalidArgument(f"a mask must have {total_of(graph)} values, not {len(mask)}; espalier.node_split and "
                                 "espalier.edge_split take ids, too")
    return graph, mask != 0, name


def _number(graph, kind, name):
    return graph.get_ntype_id(name) if kind == "node" else graph.get_etype_id(name)


def _check_rank(graph, rank, trainer_ids):
    if rank is not None and rank != graph.rank():
        refuse("another rank's share", "each rank asks for its own")
    if trainer_ids is not None:
        refuse("shares by node_trainer_ids and edge_trainer_ids", "force_even=False gives each rank the nodes of its "
               "own partitions")


def node_split(nodes: ep.NodesOfSplit | SupportsArray | Sequence[bool],
               partition_book: GraphPartitionBook | None = None, ntype: str = "_N", rank: int | None = None,
               force_even: bool = True, node_trainer_ids: None = None) -> "torch.Tensor":
    """Returns this rank's share of nodes: int64 [n]. Counterpart of DGL's node_split, without communication.

    nodes: a mask of the nodes (`g.ndata["train_mask"]`, a DistTensor, an array or a tensor), or an
    espalier.NodesOfSplit. force_even: whether sizes of shares differ by at most one; otherwise each rank gets the nodes
    of its own partitions.

    If the result for a part of a split is passed unchanged to DistNodeDataLoader, it stands for the part: the ranks
    divide the batches of `espalier.DistNodeDataLoader` for this part among them.
    """
    graph, source, ntype = _items(nodes, partition_book, "node", ntype, lambda g: g.num_nodes(ntype))
    _check_rank(graph, rank, node_trainer_ids)
    share = ep.node_split(source, graph, ntype=ntype, local=not force_even)
    ids = to_torch(share)
    ids.espalier_share = source if isinstance(source, ep.NodesOfSplit) and force_even else share
    return ids


def edge_split(edges: SupportsArray | Sequence[bool], partition_book: GraphPartitionBook | None = None,
               etype: EdgeType = "_E", rank: int | None = None, force_even: bool = True,
               edge_trainer_ids: None = None) -> "torch.Tensor":
    """Returns the edge ids of this rank's share: int64 [n]. Counterpart of DGL's edge_split.

    edges: a mask of the edges of a type. force_even: as in node_split.
    """
    if isinstance(edges, ep.EdgesOfSplit):
        raise ep.InvalidArgument("a split of edges has pairs, not ids; give it to DistEdgeDataLoader as it is")
    graph, source, etype = _items(edges, partition_book, "edge", etype, lambda g: g.num_edges(etype))
    _check_rank(graph, rank, edge_trainer_ids)
    share = ep.edge_split(source, graph, etype=etype, local=not force_even)
    ids = to_torch(share.ids)
    ids.espalier_share = share
    return ids
