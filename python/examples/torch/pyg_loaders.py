"""PyG's own loaders on an Espalier graph. Of Cora: ESPALIER_PARTITIONS=parts/KEY python pyg_loaders.py"""

import torch

import espalier as ep

g = ep.DistGraph()

# [example]
from torch_geometric.loader import LinkNeighborLoader, NeighborLoader

from espalier import pyg

data = pyg.FeatureStore(g, {"x": "node-feat", "y": "node-label"}), pyg.GraphStore(g)
sampler = pyg.NeighborSampler(g, [10, 5], seed=1)  # the seeds' hop first, as in PyG
train = torch.from_numpy(g.split_nodes("public", "train"))
loader = NeighborLoader(data, [10, 5], train, neighbor_sampler=sampler, batch_size=64, shuffle=True)
batch = next(iter(loader))
print(batch.batch_size, batch.x.shape[1], batch.num_nodes == len(batch.n_id))  # 64 1433 True

seeds = torch.stack([torch.from_numpy(ends) for ends in g.find_edges(range(g.num_edges()))])  # all edges
loader = LinkNeighborLoader(data, [10, 5], (None, seeds), neighbor_sampler=sampler, batch_size=128,
                            neg_sampling="binary")
batch = next(iter(loader))
print(batch.edge_label_index.shape, batch.edge_label.sum())  # torch.Size([2, 256]) tensor(128.)
# [example]
