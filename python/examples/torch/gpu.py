"""Trains GraphSAGE on Cora, on the GPU of this rank, or on the processor where there is none. Needs torch.

    ESPALIER_PARTITIONS=parts/KEY python gpu.py
"""

# [example]
import os

import torch
import torch.nn.functional as F

import espalier as ep
import espalier.nn


def train(g, device, epochs=30):
    """Returns a model on `device`."""
    sampler = ep.NeighborSampler([25, 10], prefetch_node_feats=["node-feat", "original_id"],
                                 prefetch_labels="node-label")
    loader = ep.DistNodeDataLoader(g, ep.NodesOfSplit("public", "train"), sampler, batch_size=140, seed=1,
                                   device=device)
    model = ep.nn.models.GraphSAGE(g, 1433, hidden_size=64, num_outputs=7, dropout=0.5, seed=1).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    for _ in range(epochs):
        for batch in loader:  # tensors on the device; the next batch is being copied
            x, y = batch.blocks[0].srcdata["node-feat"], batch.blocks[-1].dstdata["node-label"]
            logits = model(batch.blocks, x, ep.nn.StepKeys(g, batch, seed=1))
            loss = F.cross_entropy(logits, y.long().reshape(-1))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return model


def main():
    g = ep.DistGraph()
    local_rank = int(os.environ.get("LOCAL_RANK", "0"))
    device = torch.device("cuda", local_rank) if torch.cuda.is_available() else torch.device("cpu")
    outputs = ep.infer(train(g, device), g, "node-feat")  # layer by layer, on the device of the model
    nodes = ep.node_split(ep.NodesOfSplit("public", "test"), g)
    correct = outputs[nodes].argmax(axis=1) == g.ndata["node-label"][nodes].reshape(-1)
    print(f"test accuracy: {correct.mean():.3f}")
# [example]


if __name__ == "__main__":
    main()
