"""Names that older editions of DGL's user guide use in dgl.sampling."""

from espalier.dgl._absent import module_getattr
from espalier.dgl._sampling import sample_neighbors
from espalier.dgl.dataloading import (
    DistEdgeDataLoader,
    DistNodeDataLoader,
    MultiLayerFullNeighborSampler,
    MultiLayerNeighborSampler,
)

__all__ = [
    "DistEdgeDataLoader", "DistNodeDataLoader", "MultiLayerFullNeighborSampler", "MultiLayerNeighborSampler",
    "sample_neighbors",
]

__getattr__ = module_getattr("espalier.dgl.sampling", {
    "random_walk": "espalier.random_walk(g, nodes, metapath)",
    "node2vec_random_walk": "espalier.random_walk has uniform and weighted walks",
    "PinSAGESampler": "espalier.pinsage_neighbors(g, nodes, metapath)",
    "global_uniform_negative_sampling": "DistEdgeDataLoader with negative_sampler.GlobalUniform(k)",
})
