"""DGL's distributed package (dgl.distributed), over espalier."""

from espalier.dgl._absent import module_getattr
from espalier.dgl._graph import DistGraph, GraphPartitionBook
from espalier.dgl._partitions import load_partition, load_partition_book, load_partition_feats, partition_graph
from espalier.dgl._rows import DistTensor, PartitionPolicy
from espalier.dgl._sampling import (
    edge_split,
    find_edges,
    in_subgraph,
    node_split,
    sample_etype_neighbors,
    sample_neighbors,
)
from espalier.dgl._session import exit_client, initialize
from espalier.dgl.dataloading import DistDataLoader, DistEdgeDataLoader, DistNodeDataLoader
from espalier.dgl.distributed import nn, optim
from espalier.dgl.distributed.nn import DistEmbedding
from espalier.dgl.distributed.optim import SparseAdagrad, SparseAdam

__all__ = [
    "DistDataLoader", "DistEdgeDataLoader", "DistEmbedding", "DistGraph", "DistNodeDataLoader", "DistTensor",
    "edge_split", "exit_client", "find_edges", "GraphPartitionBook", "in_subgraph", "initialize", "load_partition",
    "load_partition_book", "load_partition_feats", "nn", "node_split", "optim", "partition_graph", "PartitionPolicy",
    "sample_etype_neighbors", "sample_neighbors", "SparseAdagrad", "SparseAdam",
]

__getattr__ = module_getattr("espalier.dgl.distributed", {
    "DistGraphServer": "servers are the programs espalier-graph-server, which a job starts",
    "start_server": "servers are the programs espalier-graph-server, which a job starts",
    "connect_to_server": "DistGraph connects",
    "dgl_partition_to_graphbolt": "partitions have one format (docs/partition-format.md)",
    "DistGraphStore": "DistGraph is the graph",
    "NodeEmbedding": "DistEmbedding",
    "rpc": "functions on the servers are plugins (docs/server-plugins.md): DistGraph.call_function",
    "register_service": "functions on the servers are plugins (docs/server-plugins.md): DistGraph.call_function",
    "remote_call": "functions on the servers are plugins (docs/server-plugins.md): DistGraph.call_function",
    "id_map": "ids are those of a type; DistGraph.to_original_ids and to_global_ids convert them",
    "IdMap": "ids are those of a type; DistGraph.to_original_ids and to_global_ids convert them",
    "get_rank": "DistGraph.rank()",
})
