"""GraphSAGE by espalier.nn in a loop of one's own, on partitions of a graph that `espalier generate` wrote: seconds an epoch,
those of processors among them, test accuracy.

Prints one JSON object. The model, fan-outs, batches, masks and optimizer are those of compare_peers.py's job document.
"""

import argparse
import json
import os
import time

import numpy as np
import torch
import torch.nn.functional as F

import espalier as ep
import espalier.nn


class TimedIterator:
    """Iterates once, and adds up the seconds in which the loop waits for the next item."""

    def __init__(self, items):
        self.items = iter(items)
        self.seconds = 0.0

    def __iter__(self):
        return self

    def __next__(self):
        began = time.perf_counter()
        try:
            return next(self.items)
        finally:
            self.seconds += time.perf_counter() - began


def accuracy(model, g):
    """Evaluates over all neighbors, as the trainer does with `neighborhood: Full`."""
    nodes = g.split_nodes("random", "test")
    outputs = ep.infer(model, g, "node-feat", batch_size=4096)
    return float((outputs[nodes].argmax(axis=1) == g.ndata["node-label"][nodes].reshape(-1)).mean())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("partitions")
    parser.add_argument("--fanouts", type=int, nargs="+", required=True)
    parser.add_argument("--hidden", type=int, required=True)
    parser.add_argument("--batch-size", type=int, required=True)
    parser.add_argument("--epochs", type=int, required=True)
    parser.add_argument("--dropout", type=float, required=True)
    parser.add_argument("--learning-rate", type=float, required=True)
    parser.add_argument("--keep-memory", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    torch.set_flush_denormal(True)
    torch.manual_seed(1)
    if options.keep_memory:
        ep.nn.keep_memory()

    g = ep.DistGraph(options.partitions)
    classes = int(np.max(g.ndata["node-label"][:])) + 1
    model = ep.nn.models.GraphSAGE(g, g.ndata["node-feat"].shape[1], options.hidden, classes, len(options.fanouts),
                                   dropout=options.dropout)
    optimizer = torch.optim.Adam(model.parameters(), lr=options.learning_rate)
    sampler = ep.NeighborSampler(options.fanouts, prefetch_node_feats=["node-feat", "original_id"],
                                 prefetch_labels="node-label")
    loader = ep.DistNodeDataLoader(g, ep.NodesOfSplit("random", "train"), sampler, batch_size=options.batch_size, seed=1)
    result = {"secondsPerEpoch": [], "processorSecondsPerEpoch": [], "waitSecondsPerEpoch": [], "lossPerEpoch": []}
    for _ in range(options.epochs):
        model.train()
        began, on_processors, losses = time.perf_counter(), time.process_time(), []
        batches = TimedIterator(loader)
        for batch in batches:
            x = torch.from_numpy(batch.blocks[0].srcdata["node-feat"])
            y = torch.from_numpy(batch.blocks[-1].dstdata["node-label"]).long().reshape(-1)
            loss = F.cross_entropy(model(batch.blocks, x, ep.nn.StepKeys(g, batch, seed=1)), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        result["secondsPerEpoch"].append(time.perf_counter() - began)
        result["processorSecondsPerEpoch"].append(time.process_time() - on_processors)
        result["waitSecondsPerEpoch"].append(batches.seconds)
        result["lossPerEpoch"].append(float(np.mean(losses)))
    result["testAccuracy"] = accuracy(model, g)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
