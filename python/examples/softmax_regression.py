"""Trains a softmax regression on the features of a node and the mean of its sampled in-neighbors' features.

    espalier run -f job.yaml --output out -- python softmax_regression.py random 20
    ESPALIER_PARTITIONS=out/partitions/KEY python softmax_regression.py random 20

The same model and mini-batches as services/examples/training_loop, the same program in C++.
"""

import json
import os
import pathlib
import sys

# [example]
import numpy as np

import espalier as ep


class SoftmaxRegression:
    def __init__(self, num_features, num_classes):
        self.weights = np.zeros((num_classes, 2 * num_features + 1))

    def sums(self, batch):
        """Returns the gradient by weight, the loss and the number of correct predictions, summed over this rank's share
        of a batch, which may be empty: float64 [weights + 2]."""
        block = batch.blocks[0]
        features = block.srcdata["node-feat"].astype(np.float64)
        labels = block.dstdata["node-label"].reshape(-1)
        seeds = np.arange(len(labels))
        sources, destinations = block.edges()
        degrees = np.bincount(destinations, minlength=len(labels))
        mean = np.zeros((len(labels), len(features)))
        np.add.at(mean, (destinations, sources), 1 / degrees[destinations])
        inputs = np.hstack([features[:len(labels)], mean @ features, np.ones((len(labels), 1))])
        logits = inputs @ self.weights.T
        exponents = np.exp(logits - logits.max(axis=1, keepdims=True))
        probabilities = exponents / exponents.sum(axis=1, keepdims=True)
        loss = -np.log(probabilities[seeds, labels]).sum()
        correct = (logits.argmax(axis=1) == labels).sum()
        probabilities[seeds, labels] -= 1
        return np.concatenate([(probabilities.T @ inputs).reshape(-1), [loss, correct]])

    def step(self, sums, num_seeds, learning_rate):
        self.weights -= learning_rate / num_seeds * sums[:-2].reshape(self.weights.shape)


def loader_of(g, split, part):
    """Mini-batches of 256 seeds of all ranks together."""
    sampler = ep.NeighborSampler([10], prefetch_node_feats="node-feat", prefetch_labels="node-label")
    return ep.DistNodeDataLoader(g, ep.NodesOfSplit(split, part), sampler, batch_size=256, seed=1)


def run_epoch(loader, model, group, learning_rate):
    """Returns the loss and the number of correct predictions over all seeds."""
    totals = np.zeros(2)
    for batch in loader:  # every rank gets the same number of batches
        sums = group.all_reduce(model.sums(batch))
        model.step(sums, batch.global_num_seeds, learning_rate)
        totals += sums[-2:]
    return totals


def train(split, epochs, state_path, resume):
    g = ep.DistGraph()  # of the job, or of ESPALIER_PARTITIONS
    group = ep.init_process_group(g)
    model = SoftmaxRegression(g.ndata["node-feat"].shape[1], num_classes=10)
    train_loader, test_loader = loader_of(g, split, "train"), loader_of(g, split, "test")

    done = np.zeros(1)
    if group.rank == 0 and resume and state_path and state_path.exists():
        state = np.load(state_path)
        done[0], model.weights[:] = state["epochs"], state["weights"]
    for array in (done, model.weights):
        group.broadcast(array)  # rank 0 has the file

    loss = None  # if no epoch is left
    for epoch in range(int(done[0]), epochs):
        train_loader.set_epoch(epoch)
        loss, _ = run_epoch(train_loader, model, group, 0.1) / g.node_splits["node", split]["train"]
        if group.rank == 0 and state_path:
            with open(state_path.with_suffix(".new"), "wb") as file:
                np.savez(file, epochs=epoch + 1, weights=model.weights)
            os.replace(file.name, state_path)
    _, accuracy = run_epoch(test_loader, model, group, 0) / g.node_splits["node", split]["test"]
    return group.rank, {"lastLoss": loss, "testAccuracy": accuracy}
# [example]


def main():
    split, epochs = sys.argv[1], int(sys.argv[2])
    output = os.environ.get("ESPALIER_OUTPUT", "")
    folder = pathlib.Path(output) if output.startswith("/") else None  # not a bucket
    rank, result = train(split, epochs, folder and folder / "softmax-regression.npz",
                         resume=os.environ.get("ESPALIER_RESUME") == "auto")
    if rank == 0:
        print(json.dumps(result))
        if folder:
            (folder / "result.json").write_text(json.dumps(result))  # `espalier run` adds what it knows


if __name__ == "__main__":
    main()
