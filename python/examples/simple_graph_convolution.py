"""Classifies Cora's papers by a simplified graph convolution (Wu et al., ICML 2019): features are averaged over
neighborhoods twice, layer by layer over all nodes, and a softmax regression is trained on the result.

    ESPALIER_PARTITIONS=parts/KEY python simple_graph_convolution.py
"""

# [example]
import numpy as np

import espalier as ep


def average(g, mine, column, name):
    """Returns a DistTensor of the nodes: the mean of `column` over each node and its in-neighbors. Every rank computes
    the rows of its own nodes; all rows are there after the next barrier."""
    result = ep.DistTensor.create(g, column.shape[1:], name=name, ntype="node")
    loader = ep.DistNodeDataLoader(g, mine, ep.MultiLayerFullNeighborSampler(1), batch_size=512, shuffle=False)
    for input_nodes, output_nodes, (block,) in loader:
        rows = column[input_nodes]
        totals = rows[:len(output_nodes)].copy()
        sources, destinations = block.edges()
        np.add.at(totals, destinations, rows[sources])
        degrees = np.bincount(destinations, minlength=len(output_nodes))
        result[output_nodes] = totals / (1 + degrees[:, None])
    return result


def train(features, labels, group, num_classes=7, steps=200, learning_rate=50):
    """Returns weights [features, classes] by gradient descent on the nodes of all ranks."""
    weights = np.zeros((features.shape[1], num_classes))
    total = group.all_reduce(np.array([len(labels)], dtype=np.float64))[0]
    for _ in range(steps):
        exponents = np.exp(features @ weights)
        errors = exponents / exponents.sum(axis=1, keepdims=True)
        errors[np.arange(len(labels)), labels] -= 1
        weights -= learning_rate * group.all_reduce(features.T @ errors) / total
    return weights


def main():
    g = ep.DistGraph()
    group = ep.init_process_group(g)
    mine = ep.node_split(np.arange(g.num_nodes()), g, local=True)  # nodes of nearby partitions
    once = average(g, mine, g.ndata["node-feat"], "averaged-once")
    group.barrier()
    twice = average(g, mine, once, "averaged-twice")
    group.barrier()

    def share(part):
        nodes = ep.node_split(ep.NodesOfSplit("public", part), g)
        return twice[nodes].astype(np.float64), g.ndata["node-label"][nodes].reshape(-1)

    weights = train(*share("train"), group)
    features, labels = share("test")
    correct = np.array([((features @ weights).argmax(axis=1) == labels).sum(), len(labels)], dtype=np.float64)
    group.all_reduce(correct)
    if group.rank == 0:
        print(f"test accuracy: {correct[0] / correct[1]:.3f}")
# [example]


if __name__ == "__main__":
    main()
