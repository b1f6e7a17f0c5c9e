"""Mini-batches of edges. Of Cora: ESPALIER_PARTITIONS=parts/KEY python edge_loader.py"""

import numpy as np

import espalier as ep

g = ep.DistGraph()

# [example]
mine = ep.edge_split(np.arange(g.num_edges()), g)  # or EdgesOfSplit("split", "train"), where the graph has a split of edges
sampler = ep.NeighborSampler([10], prefetch_node_feats="node-feat")
loader = ep.DistEdgeDataLoader(g, mine, sampler, batch_size=100, seed=1, exclude="reverse_types",
                               negative_sampler=ep.negative_sampler.Uniform(5))
batch = next(iter(loader))
links = batch.links  # endpoints are positions in batch.output_nodes
print(len(links.sources), len(links.destinations))  # 100 100
sources, destinations, valid = links.negatives()  # valid: False where a negative is an edge of the batch
print(destinations.shape, valid.dtype)  # (100, 5) bool
# [example]
