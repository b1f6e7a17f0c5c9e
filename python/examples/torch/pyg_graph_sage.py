"""GraphSAGE of PyG's layers on Espalier's mini-batches, alone and on any number of ranks. Of Cora:

    ESPALIER_PARTITIONS=parts/KEY python pyg_graph_sage.py
"""

import sys

# [example]
import torch
from torch.nn.functional import cross_entropy, dropout
from torch_geometric.nn import SAGEConv
from torch_geometric.utils import trim_to_layer

import espalier as ep


class GraphSAGE(torch.nn.Module):
    def __init__(self, num_features, num_hidden, num_classes):
        super().__init__()
        self.convs = torch.nn.ModuleList([SAGEConv(num_features, num_hidden), SAGEConv(num_hidden, num_classes)])

    def forward(self, data):
        x, edge_index = data.x, data.edge_index
        for layer, conv in enumerate(self.convs):
            x, edge_index, _ = trim_to_layer(layer, data.num_sampled_nodes, data.num_sampled_edges, x, edge_index)
            x = dropout(x if layer == 0 else x.relu(), 0.5, self.training)
            x = conv(x, edge_index)
        return x[:data.batch_size]


def loader_of(g, part, fanouts, seed):
    """Mini-batches of 140 seeds, counted over all ranks."""
    sampler = ep.NeighborSampler(fanouts, expand="Once", prefetch_node_feats="node-feat", prefetch_labels="node-label")
    return ep.DistNodeDataLoader(g, ep.NodesOfSplit("public", part), sampler, batch_size=140, seed=seed)


def train_epoch(model, loader, optimizer, group):
    model.train()
    for batch in loader:
        # to_data returns a Data; for several types, to_hetero_data returns a HeteroData.
        data = batch.to_data(x="node-feat", y="node-label")
        loss = cross_entropy(model(data), data.y, reduction="sum") / batch.global_num_seeds
        optimizer.zero_grad()
        loss.backward()
        for parameter in model.parameters():
            group.all_reduce(parameter.grad.numpy())  # in place, over all ranks
        optimizer.step()


@torch.no_grad()
def accuracy(model, loader, group):
    model.eval()
    counts = torch.zeros(2, dtype=torch.float64)
    for batch in loader:
        data = batch.to_data(x="node-feat", y="node-label")
        counts += torch.tensor([(model(data).argmax(1) == data.y).sum(), len(data.y)])
    group.all_reduce(counts.numpy())
    return (counts[0] / counts[1]).item()


def main(seed=1, epochs=100):
    g = ep.DistGraph()
    group = ep.init_process_group(g)
    torch.manual_seed(seed)  # equal parameters on every rank
    model = GraphSAGE(g.ndata["node-feat"].shape[1], 64, 7)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=2e-3)
    loader = loader_of(g, "train", [10, 10], seed)
    for _ in range(epochs):
        train_epoch(model, loader, optimizer, group)
    result = accuracy(model, loader_of(g, "test", [-1, -1], seed), group)
    if group.rank == 0:
        print(f"test accuracy: {result:.3f}")
# [example]


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
