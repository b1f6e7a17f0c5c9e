"""Simple graph convolution as in python/examples, in a loop that stops on request and resumes from its checkpoint. Halfway
it waits for the stop request."""

import json
import os

import numpy as np
from simple_graph_convolution import average

import espalier as ep

STEPS, LEARNING_RATE, CLASSES = 200, 50, 7

g = ep.DistGraph()
group = ep.init_process_group(g)
checkpoints = os.environ["ESPALIER_OUTPUT"] + "/checkpoints"
checkpoint = ep.checkpoint.resume(g, group, checkpoints)

mine = ep.node_split(np.arange(g.num_nodes()), g, local=True)
once = average(g, mine, g.ndata["node-feat"], "averaged-once")
group.barrier()
twice = average(g, mine, once, "averaged-twice")
group.barrier()


def share(part):
    """Returns features [n, 1433] and labels [n] of this rank's share of a part of the split."""
    nodes = ep.node_split(ep.NodesOfSplit("public", part), g)
    return twice[nodes].astype(np.float64), g.ndata["node-label"][nodes].reshape(-1)


features, labels = share("train")
total = group.all_reduce(np.array([len(labels)], dtype=np.float64))[0]
state = checkpoint.state if checkpoint else {"step": 0, "weights": np.zeros((features.shape[1], CLASSES))}
begun_at = state["step"]
while state["step"] < STEPS:
    exponents = np.exp(features @ state["weights"])
    errors = exponents / exponents.sum(axis=1, keepdims=True)
    errors[np.arange(len(labels)), labels] -= 1
    gradients = group.all_reduce(features.T @ errors)
    state = {"step": state["step"] + 1, "weights": state["weights"] - LEARNING_RATE * gradients / total}
    ep.checkpoint.stop_if_asked(g, group, checkpoints, state=state)
    if state["step"] == STEPS // 2:
        ep.checkpoint.save(g, group, checkpoints, state=state)  # the scenario waits for this checkpoint
        while True:
            ep.checkpoint.stop_if_asked(g, group, checkpoints, state=state)

features, labels = share("test")
predicted = (features @ state["weights"]).argmax(axis=1)
correct = group.all_reduce(np.array([(predicted == labels).sum(), len(labels)], dtype=np.float64))
if group.rank == 0:
    print(json.dumps({"testAccuracy": correct[0] / correct[1], "begunAt": begun_at}))
