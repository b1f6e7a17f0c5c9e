"""GraphSAGE in DGL as its users write it, on a graph that `espalier generate` wrote: seconds an epoch, test accuracy.

Prints one JSON object. The model, fan-outs, batches and optimizer are those of compare_peers.py's job document.
"""

import argparse
import json
import os
import pathlib
import time

import dgl
import dgl.nn.pytorch as dglnn
import numpy as np
import torch
import torch.nn.functional as F


class Sage(torch.nn.Module):
    def __init__(self, widths, dropout):
        super().__init__()
        self.layers = torch.nn.ModuleList(
            dglnn.SAGEConv(before, after, "mean") for before, after in zip(widths, widths[1:]))
        self.dropout = dropout

    def forward(self, blocks, rows):
        for number, (layer, block) in enumerate(zip(self.layers, blocks)):
            rows = layer(block, F.dropout(rows, self.dropout, self.training))
            if number + 1 < len(self.layers):
                rows = F.relu(rows)
        return rows


def load(folder):
    def array(name, dtype=np.int64):
        return torch.from_numpy(np.load(folder / (name + ".npy")).astype(dtype))

    features, labels = array("nodes.node.node-feat", np.float32), array("nodes.node.node-label")
    ends = [array(f"edges.node___edge___node.{end}") for end in ("sources", "destinations")]
    graph = dgl.graph(tuple(ends), num_nodes=len(features)).formats("csc")
    graph.create_formats_()
    graph.ndata["feat"], graph.ndata["label"] = features, labels
    split = {part: array(f"split.random.node.{part}") for part in ("train", "test")}
    return graph, split


def accuracy(model, graph, nodes, layers):
    """Evaluates over all neighbors, as Espalier does with `neighborhood: Full`."""
    sampler = dgl.dataloading.NeighborSampler([-1] * layers, prefetch_node_feats=["feat"], prefetch_labels=["label"])
    model.eval()
    right = 0
    with torch.no_grad():
        for _, _, blocks in dgl.dataloading.DataLoader(graph, nodes, sampler, batch_size=4096):
            logits = model(blocks, blocks[0].srcdata["feat"])
            right += int((logits.argmax(1) == blocks[-1].dstdata["label"]).sum())
    return right / len(nodes)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graph", type=pathlib.Path)
    parser.add_argument("--fanouts", type=int, nargs="+", required=True)
    parser.add_argument("--hidden", type=int, required=True)
    parser.add_argument("--batch-size", type=int, required=True)
    parser.add_argument("--epochs", type=int, required=True)
    parser.add_argument("--dropout", type=float, required=True)
    parser.add_argument("--learning-rate", type=float, required=True)
    options = parser.parse_args()
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    torch.manual_seed(1)

    graph, split = load(options.graph)
    classes = int(graph.ndata["label"].max()) + 1
    widths = [graph.ndata["feat"].shape[1]] + [options.hidden] * (len(options.fanouts) - 1) + [classes]
    model = Sage(widths, options.dropout)
    optimizer = torch.optim.Adam(model.parameters(), lr=options.learning_rate)
    sampler = dgl.dataloading.NeighborSampler(options.fanouts, prefetch_node_feats=["feat"],
                                              prefetch_labels=["label"])
    loader = dgl.dataloading.DataLoader(graph, split["train"], sampler, batch_size=options.batch_size, shuffle=True,
                                        num_workers=1)  # samples on a processor of its own, as Espalier's threads do
    seconds = []
    for _ in range(options.epochs):
        start = time.perf_counter()
        model.train()
        for _, _, blocks in loader:
            loss = F.cross_entropy(model(blocks, blocks[0].srcdata["feat"]), blocks[-1].dstdata["label"])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        seconds.append(time.perf_counter() - start)
    print(json.dumps({"secondsPerEpoch": seconds,
                      "testAccuracy": accuracy(model, graph, split["test"], len(options.fanouts))}))


if __name__ == "__main__":
    main()
