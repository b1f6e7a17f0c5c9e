"""DGL's names for distributed training, implemented with espalier: a DGL script runs after a change of its import line.

    import espalier.dgl as dgl        # was: import dgl

    dgl.distributed.initialize("ip_config.txt")
    g = dgl.distributed.DistGraph("cora", part_config="data/cora.json")
    train_nid = dgl.distributed.node_split(g.ndata["train_mask"], g.get_partition_book(), force_even=True)
    sampler = dgl.dataloading.NeighborSampler([10, 25])
    loader = dgl.dataloading.DistNodeDataLoader(g, train_nid, sampler, batch_size=1000)

Ids, columns and blocks are PyTorch tensors; PyTorch is imported when the first one is created. Names of DGL that do not
exist here raise AttributeError or NotImplementedError with an alternative in the message. docs/coming-from-dgl.md lists
them.
"""

from espalier.dgl import dataloading, distributed, function, nn, random, sampling
from espalier.dgl._absent import module_getattr
from espalier.dgl._blocks import EID, NID, to_block
from espalier.dgl._host_graph import graph, heterograph
from espalier.dgl._session import set_seed as seed
from espalier.errors import EspalierError as DGLError

__all__ = [
    "dataloading", "DGLError", "distributed", "EID", "function", "graph", "heterograph", "NID", "nn", "random",
    "sampling", "seed", "to_block",
]

__getattr__ = module_getattr("espalier.dgl", {
    "DGLGraph": "graphs are partitioned: espalier.dgl.distributed.DistGraph; dgl.graph makes one for partition_graph",
    "DGLHeteroGraph": "graphs are partitioned: espalier.dgl.distributed.DistGraph",
    "DistGraph": "espalier.dgl.distributed.DistGraph",
    "add_self_loop": "layers of espalier.nn have self_loops=",
    "add_reverse_edges": "espalier import and partition have --add-reverse-edges",
    "to_bidirected": "espalier import and partition have --add-reverse-edges",
    "node_subgraph": "DistGraph.edge_subgraph",
    "edge_subgraph": "DistGraph.edge_subgraph",
    "in_subgraph": "espalier.dgl.distributed.in_subgraph",
    "batch": "graphs are partitioned; there are no batches of graphs",
    "data": "datasets are read from files (docs/graph-formats.md)",
    "graphbolt": "DistNodeDataLoader has threads; docs/graph-formats.md reads OnDiskDataset's arrays",
    "save_graphs": "partition_graph writes graph.yaml and .npy files",
    "load_graphs": "docs/graph-formats.md lists the formats that are read",
    "create_block": "to_block(frontier, nodes)",
    "reorder_graph": "partition_graph numbers nodes by partition",
})
