"""Graph neural networks on graphs that are too large for one machine.

    import espalier as ep

    g = ep.DistGraph()                         # of the job that runs this program, or of ESPALIER_PARTITIONS
    loader = ep.DistNodeDataLoader(g, ep.NodesOfSplit("public", "train"), ep.NeighborSampler([10, 10]), batch_size=256)
    for batch in loader:
        x = g.ndata["node-feat"][batch.input_nodes]

Names are those of DGL if DGL has the same notion; docs/python.md describes the differences. Requires only NumPy. Ids
are global ids of one type, int64; `DistGraph.to_global_ids` converts ids of the input graph to global ids.
"""

from espalier import processor  # before the extension module is loaded
from espalier import audit, checkpoint, ends, optim, programs
from espalier._core import __version__
from espalier.block import EID, NID, Block, LinkBatch, MiniBatch
from espalier.cluster import Job, job, submit
from espalier.collate import DistDataLoader
from espalier.dataloading import (
    DistEdgeDataLoader,
    DistNodeDataLoader,
    EdgesOfSplit,
    LaborSampler,
    LastSampler,
    MultiLayerFullNeighborSampler,
    NeighborSampler,
    NodesOfSplit,
    negative_sampler,
)
from espalier.distributed import ProcessGroup, init_process_group
from espalier.edge_outputs import write_edge_predictions
from espalier.embedding import DistEmbedding
from espalier.errors import (
    Aborted,
    AlreadyExists,
    Cancelled,
    DataLoss,
    DeadlineExceeded,
    EspalierError,
    FailedPrecondition,
    Internal,
    InvalidArgument,
    NotFound,
    OutOfRange,
    PermissionDenied,
    ResourceExhausted,
    Unauthenticated,
    Unavailable,
    Unimplemented,
)
from espalier.graph import DistGraph
from espalier.inference import infer
from espalier.jobs import Results, run
from espalier.outputs import write_embeddings, write_predictions
from espalier.partition_book import PartitionBook
from espalier.partitioning import partition, write_graph
from espalier.sampling import (
    Frontier,
    in_subgraph,
    pinsage_neighbors,
    random_walk,
    sample_neighbors,
    to_block,
)
from espalier.saved import list_saved_tensors, load_tensors, remove_saved_tensors, save_tensors
from espalier.serving import serve
from espalier.splits import EdgeShare, NodeShare, edge_split, node_split
from espalier.tensor import DistTensor

__all__ = [
    "__version__", "Aborted", "AlreadyExists", "audit", "Block", "Cancelled", "checkpoint", "DataLoss",
    "DeadlineExceeded", "DistDataLoader", "DistEdgeDataLoader", "DistEmbedding", "DistGraph", "DistNodeDataLoader",
    "DistTensor", "edge_split", "EdgeShare", "EdgesOfSplit", "EID", "EspalierError", "FailedPrecondition", "Frontier",
    "in_subgraph", "infer", "init_process_group", "Internal", "InvalidArgument", "Job", "job", "LaborSampler",
    "LastSampler", "LinkBatch", "list_saved_tensors", "load_tensors", "MiniBatch", "MultiLayerFullNeighborSampler",
    "negative_sampler", "NeighborSampler", "NID", "node_split", "NodeShare", "NodesOfSplit", "NotFound", "optim",
    "OutOfRange", "partition", "PartitionBook", "PermissionDenied", "pinsage_neighbors", "ProcessGroup",
    "random_walk", "remove_saved_tensors", "ResourceExhausted", "Results", "run", "sample_neighbors", "save_tensors",
    "serve", "submit", "to_block", "Unauthenticated", "Unavailable", "Unimplemented", "write_edge_predictions",
    "write_embeddings", "write_graph", "write_predictions",
]
