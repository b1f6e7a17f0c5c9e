"""DGL's samplers and loaders (dgl.dataloading), over espalier's."""

from espalier.dgl._absent import module_getattr
from espalier.dgl.dataloading import negative_sampler
from espalier.dgl.dataloading._loaders import DistDataLoader, DistEdgeDataLoader, DistNodeDataLoader
from espalier.dgl.dataloading._samplers import (
    BlockSampler,
    LaborSampler,
    MultiLayerFullNeighborSampler,
    MultiLayerNeighborSampler,
    NeighborSampler,
    Sampler,
    as_edge_prediction_sampler,
)

__all__ = [
    "as_edge_prediction_sampler", "BlockSampler", "DistDataLoader", "DistEdgeDataLoader", "DistNodeDataLoader",
    "LaborSampler", "MultiLayerFullNeighborSampler", "MultiLayerNeighborSampler", "negative_sampler",
    "NeighborSampler", "Sampler",
]

__getattr__ = module_getattr("espalier.dgl.dataloading", {
    name: "graphs are partitioned; DistNodeDataLoader and DistEdgeDataLoader load them, alone too"
    for name in ("DataLoader", "NodeDataLoader", "EdgeDataLoader", "GraphDataLoader", "GraphCollator")} | {
    name: "NeighborSampler, LaborSampler and MultiLayerFullNeighborSampler are there; others can be a BlockSampler"
    for name in ("ClusterGCNSampler", "SAINTSampler", "ShaDowKHopSampler")})
