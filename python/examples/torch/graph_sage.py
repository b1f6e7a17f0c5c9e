"""Trains GraphSAGE on Cora with PyTorch, alone or on the ranks of a job, and computes outputs of all nodes. Needs torch.

    ESPALIER_PARTITIONS=parts/KEY python graph_sage.py
"""

# [example]
import torch
import torch.nn.functional as F

import espalier as ep
import espalier.nn


class GraphSAGE(torch.nn.Module):
    num_layers = 2

    def __init__(self, in_feats, hidden, classes):
        super().__init__()
        self.first = ep.nn.SAGEConv(in_feats, hidden, "mean", activation=F.relu)
        self.dropout = ep.nn.Dropout(0.5, layer=0)
        self.last = ep.nn.SAGEConv(hidden, classes, "mean")
        self.widths = [hidden, classes]

    def forward(self, blocks, x, keys=None):
        return self.last(blocks[1], self.dropout(self.first(blocks[0], x), keys))

    def layer(self, layer, block, rows, keys, degrees):  # for ep.infer: one layer at a time, rows by node type
        return {"node": (self.first, self.last)[layer](block, rows["node"])}

    def output_width(self, layer):
        return self.widths[layer]


def train(g, group, model, epochs):
    sampler = ep.NeighborSampler([25, 10], prefetch_node_feats="node-feat", prefetch_labels="node-label")
    loader = ep.DistNodeDataLoader(g, ep.NodesOfSplit("public", "train"), sampler, batch_size=140, seed=1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    for _ in range(epochs):
        for batch in loader:  # every rank gets the same number of batches
            x = torch.from_numpy(batch.blocks[0].srcdata["node-feat"])
            y = torch.from_numpy(batch.blocks[-1].dstdata["node-label"]).long().reshape(-1)
            logits = model(batch.blocks, x, ep.nn.StepKeys(g, batch, seed=1))
            loss = F.cross_entropy(logits, y, reduction="sum") / batch.global_num_seeds
            optimizer.zero_grad()
            loss.backward()
            for parameter in model.parameters():
                group.all_reduce(parameter.grad.numpy())
            optimizer.step()


def main():
    g = ep.DistGraph()  # of the job, or of ESPALIER_PARTITIONS
    group = ep.init_process_group(g)
    torch.manual_seed(1)  # the same first parameters on every rank
    model = GraphSAGE(1433, 64, 7)
    train(g, group, model, epochs=40)
    outputs = ep.infer(model, g, "node-feat", group)  # a DistTensor: every node, on its full neighborhood
    test = g.split_nodes("public", "test")
    accuracy = (outputs[test].argmax(axis=1) == g.ndata["node-label"][test].reshape(-1)).mean()
    group.barrier()
    if group.rank == 0:
        print(f"test accuracy: {accuracy:.3f}")
# [example]


if __name__ == "__main__":
    main()
