"""partition_graph, and functions that read partitions from their files."""

import json
import os
import pathlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import espalier as ep
from espalier.dgl import _session
from espalier.dgl._absent import refuse
from espalier.dgl._arrays import to_numpy, to_torch
from espalier.dgl._blocks import EID, NID
from espalier.dgl._graph import DistGraph, GraphPartitionBook
from espalier.dgl._host_graph import HostGraph
from espalier.dgl._rows import PART_OF_MASK
from espalier.partitioning import original_edge_ids
from espalier.types import to_int
from espalier.typing import Path

if TYPE_CHECKING:
    import torch

_ALGORITHMS = {"metis": "METIS", "multilevel": "Multilevel", "random": "Random", "streaming": "Streaming"}
_OBJECTIVES = {"cut": "EdgeCut", "vol": "CommunicationVolume"}


def partition_graph(g: Any, graph_name: str, num_parts: int, out_path: Path, num_hops: int = 1,
                    part_method: str = "metis", balance_ntypes: Any = None, balance_edges: bool = False,
                    return_mapping: bool = False, num_trainers_per_machine: int = 1, objtype: str = "cut",
                    graph_formats: str | Sequence[str] | None = None, use_graphbolt: bool = False,
                    seed: int = 0) -> Any:
    """Partitions a graph and writes `out_path/graph_name.json`, the part_config of DistGraph. Returns None; with
    return_mapping, returns (nodes, edges): original ids in the order of the new ids, int64, or {type: ids}. Counterpart
    of DGL's partition_graph, based on `espalier.partition`.

    g: the result of `dgl.graph` or `dgl.heterograph` of this package, or a DGLGraph. Columns keep their names. The
    columns train_mask, val_mask and test_mask of a node type also become its split "masks". The graph itself is written
    to `out_path/graph_name` (format NPY of docs/graph-formats.md), which may be a job's `spec.graph.source`. Existing
    partitions with the same key are reused.

    part_method: "metis", "multilevel", "random" or "streaming" (docs/large-graphs.md). balance_edges: whether
    partitions should also have about equal numbers of edges. balance_ntypes: True: partitions should have about equal
    numbers of nodes of each type; g.ndata["train_mask"], or {node type: mask}: equal numbers of training nodes.
    num_hops: must be 1, because a partition has the in-edges of its nodes. num_trainers_per_machine: must be 1, because
    node_split divides nodes among any number of ranks. graph_formats, use_graphbolt: no effect; partitions have one
    format.
    """
    if num_hops != 1:
        refuse(f"num_hops={num_hops}", "a partition has its nodes' in-edges, and the servers have the rest")
    if num_trainers_per_machine != 1:
        refuse(f"num_trainers_per_machine={num_trainers_per_machine}",
               "node_split divides nodes among any ranks, with force_even=False by the partitions that own them")
    if part_method not in _ALGORITHMS or objtype not in _OBJECTIVES:
        raise ep.InvalidArgument(f"part_method {part_method!r}, objtype {objtype!r}; expected metis, "
                                 "multilevel, random or streaming, and cut or vol")
    out = pathlib.Path(out_path)
    source = out / graph_name
    nodes, edges, splits = _arrays_of(g)
    balance = _balanced(balance_ntypes, nodes) + (["Edges"] if balance_edges else [])
    if source.exists() and not (source / "graph.yaml").exists() and any(source.iterdir()):
        raise ep.AlreadyExists(f"{source} holds something else than a graph of partition_graph")
    for file in [*source.glob("array-*.npy"), *source.glob("graph.yaml")]:  # of an earlier call
        file.unlink()
    ep.write_graph(source, graph_name, nodes, edges, splits)
    folder = ep.partition(source, out / "partitions", count=num_parts, algorithm=_ALGORITHMS[part_method],
                          objective=_OBJECTIVES[objtype], balance=balance, seed=seed)
    made = ep.DistGraph(folder)
    book = made.get_partition_book()
    config = {"graph_name": graph_name, "num_parts": num_parts, "part_method": part_method, "halo_hops": 1,
              "num_nodes": made.num_nodes(), "num_edges": made.num_edges(),
              "ntypes": {ntype: number for number, ntype in enumerate(made.ntypes)},
              "etypes": {":".join(etype): number for number, etype in enumerate(made.canonical_etypes)},
              "node_map": {ntype: _ranges(book.node_ranges(ntype)) for ntype in made.ntypes},
              "edge_map": {":".join(etype): _ranges(book.edge_ranges(etype)) for etype in made.canonical_etypes},
              "source": graph_name, "partitions": os.path.relpath(folder, out)}
    (out / f"{graph_name}.json").write_text(json.dumps(config, indent=1) + "\n")
    if not return_mapping:
        return None
    return (_only({ntype: to_torch(made.to_original_ids(np.arange(made.num_nodes(ntype)), ntype))
                   for ntype in made.ntypes}),
            _only({etype: to_torch(original_edge_ids(folder, etype)) for etype in made.canonical_etypes}))


def _balanced(balance_ntypes, nodes):
    """Returns the quantities that espalier.partition balances for DGL's balance_ntypes. nodes: {type: (number,
    columns)}."""
    if balance_ntypes is None or balance_ntypes is False:
        return []
    if balance_ntypes is True:
        return ["NodeTypes"]
    by_type = dict(balance_ntypes) if isinstance(balance_ntypes, Mapping) else dict.fromkeys(nodes, balance_ntypes)
    given = to_numpy(by_type)
    masks = {ntype: columns["train_mask"] for ntype, (_, columns) in nodes.items() if "train_mask" in columns}
    is_train_mask = given.keys() == masks.keys() and all(_is_mask(given[ntype], mask) for ntype, mask in masks.items())
    if not masks or not is_train_mask:
        refuse("balance_ntypes by other classes than train_mask",
               "give g.ndata['train_mask'], or True for the node types of a heterograph; `espalier partition --algorithm "
               "External` takes any assignment")
    return ["TrainNodes"]


def _is_mask(values, mask):
    values, mask = np.asarray(values).reshape(-1), np.asarray(mask).reshape(-1) != 0
    return len(np.unique(values)) <= 2 and np.array_equal(values != 0, mask)


def _ranges(first):
    return np.stack([first[:-1], first[1:]], axis=1).tolist()


def _only(by_type):
    return next(iter(by_type.values())) if len(by_type) == 1 else by_type


def _arrays_of(g):
    """Returns (nodes, edges, splits) for espalier.write_graph, of a HostGraph or a DGLGraph."""
    if isinstance(g, tuple):
        raise ep.InvalidArgument("partition_graph takes a graph: dgl.graph((sources, destinations))")
    nodes = {ntype: (int(g.num_nodes(ntype)), to_numpy(dict(g.nodes[ntype].data))) for ntype in g.ntypes}
    edges = {}
    for etype in g.canonical_etypes:
        sources, destinations = (g._ends[etype] if isinstance(g, HostGraph) else
                                 g.edges(form="uv", order="eid", etype=etype))
        edges[etype] = (to_numpy(sources), to_numpy(destinations), to_numpy(dict(g.edges[etype].data)))
    splits = []
    for ntype, (_, columns) in nodes.items():
        masks = {PART_OF_MASK[name]: np.asarray(columns[name]).reshape(-1) != 0 for name in PART_OF_MASK
                 if name in columns}
        if masks:
            splits.append({"name": "masks", "type": ntype, **masks})
    return nodes, edges, splits


def load_partition_book(part_config: Path, part_id: int, part_metadata: Mapping[str, Any] | None = None
                        ) -> tuple[GraphPartitionBook, str, dict[str, int], dict[str, int]]:
    """Returns (GraphPartitionBook, graph's name, node types, edge types). Counterpart of DGL's load_partition_book.
    part_metadata: the content of part_config, which provides name and types; None: reads the file."""
    graph = _open(part_config)
    config = json.loads(pathlib.Path(part_config).read_text()) if part_metadata is None else part_metadata
    _check_part(graph, part_id)
    return graph.get_partition_book(), config["graph_name"], config["ntypes"], config["etypes"]


def load_partition_feats(part_config: Path, part_id: int, load_nodes: bool = True, load_edges: bool = True
                         ) -> "tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]":
    """Returns (node columns, edge columns) of a partition's own nodes and edges: {"type/column": tensor}. As in DGL,
    names of edge types are "source:relation:destination"."""
    graph = _open(part_config)
    _check_part(graph, part_id)
    book = graph.get_partition_book()
    node_feats, edge_feats = {}, {}
    for ntype in graph.ntypes if load_nodes else ():
        ids = book.partid2nids(part_id, ntype)
        frame = graph.nodes[ntype].data
        node_feats.update({f"{ntype}/{name}": frame[name][ids] for name in frame})
    for etype in graph.canonical_etypes if load_edges else ():
        ids = book.partid2eids(part_id, etype)
        frame = graph.edges[etype].data
        edge_feats.update({f"{':'.join(etype)}/{name}": frame[name][ids] for name in frame})
    return node_feats, edge_feats


def load_partition(part_config: Path, part_id: int, load_feats: bool = True
                   ) -> ("tuple[HostGraph, dict[str, torch.Tensor], dict[str, torch.Tensor], GraphPartitionBook, str, "
                         "dict[str, int], dict[str, int]]"):
    """Returns (graph, node columns, edge columns, partition book, graph's name, node types, edge types). Counterpart of
    DGL's load_partition.

    graph: has the partition's nodes in the order of their ids, then the other endpoints of their in-edges, with
    ndata[NID], ndata["inner_node"], edata[EID] and edata["inner_edge"]. Columns are those of load_partition_feats, or
    {}.
    """
    book, name, ntypes, etypes = load_partition_book(part_config, part_id)
    whole = book._graph
    own = {ntype: to_numpy(book.partid2nids(part_id, ntype)) for ntype in whole.ntypes}
    frontier = ep.in_subgraph(whole, own)
    ids = {}
    for ntype, mine in own.items():
        ends = [frontier.edges(etype)[0] for etype in frontier.canonical_etypes if etype[0] == ntype]
        ids[ntype] = np.concatenate([mine, np.setdiff1d(np.concatenate(ends), mine)] if ends else [mine])
    places = {ntype: np.argsort(values, kind="stable") for ntype, values in ids.items()}

    def rows(ntype, values):
        return places[ntype][np.searchsorted(ids[ntype], values, sorter=places[ntype])]

    part = HostGraph({etype: tuple(rows(ntype, ends) for ntype, ends in zip(etype[::2], frontier.edges(etype)))
                      for etype in frontier.canonical_etypes}, {ntype: len(values) for ntype, values in ids.items()})
    for ntype, values in ids.items():
        part.nodes[ntype].data.update({NID: to_torch(values), "inner_node": to_torch(
            (np.arange(len(values)) < len(own[ntype])).astype(np.uint8))})
    for etype in frontier.canonical_etypes:
        numbers = frontier.edge_ids(etype)
        part.edges[etype].data.update({EID: to_torch(numbers), "inner_edge": to_torch(np.ones(len(numbers), np.uint8))})
    feats = load_partition_feats(part_config, part_id) if load_feats else ({}, {})
    return part, *feats, book, name, ntypes, etypes


def _open(part_config):
    """Opens the graph of a part_config, regardless of the job's graph."""
    return DistGraph.__new__(DistGraph)._take(ep.DistGraph(_session.partitions_of(part_config)))


def _check_part(graph, part_id):
    to_int(part_id, "part_id", most=graph._core.num_partitions - 1)
