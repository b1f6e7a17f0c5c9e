"""Runs the script of DGL's chapter 7 with changed import lines, and with the parts that the chapter leaves to the
reader.

    python chapter.py SCRIPT EPOCHS SEED

Rank 0 prints the accuracy on the test nodes, and the sum of the original ids of all nodes that the training of all
ranks has read. Columns: feat and label, or OGB's names.
"""

import json
import re
import sys
import types

import torch
from torch import nn
from torch.nn import functional

import espalier as ep
import espalier.dgl as dgl


class MeanConv(nn.Module):
    """GraphSAGE's layer with the mean of neighbors, written with DGL's message functions."""

    def __init__(self, in_feats, out_feats):
        super().__init__()
        self.own, self.neighbors = nn.Linear(in_feats, out_feats), nn.Linear(in_feats, out_feats, bias=False)

    def forward(self, block, rows):
        with block.local_scope():
            block.srcdata["h"] = rows
            block.update_all(dgl.function.copy_u("h", "m"), dgl.function.mean("m", "h_neigh"))
            return self.own(rows[:block.num_dst_nodes()]) + self.neighbors(block.dstdata["h_neigh"])


class SAGE(nn.Module):
    def __init__(self, in_feats, num_hidden, n_classes, num_layers, activation, dropout):
        super().__init__()
        sizes = [in_feats, *[num_hidden] * (num_layers - 1), n_classes]
        self.layers = nn.ModuleList(MeanConv(*pair) for pair in zip(sizes, sizes[1:]))
        self.activation, self.dropout = activation, nn.Dropout(dropout)

    def forward(self, blocks, rows):
        for number, (layer, block) in enumerate(zip(self.layers, blocks)):
            rows = layer(block, self.dropout(rows))
            if number < len(self.layers) - 1:
                rows = self.activation(rows)
        return rows


def column(g, *names):
    return next(g.ndata[name] for name in names if name in g.ndata)


read = torch.zeros(1, dtype=torch.int64)


def load_subtensor(g, input_nodes, seeds):
    read.add_(g.to_original_ids(input_nodes).sum())
    return column(g, "feat", "node-feat")[input_nodes], column(g, "label", "node-label")[seeds].long().reshape(-1)


def changed(script):
    """Returns the script with only its import lines changed."""
    lines = []
    for line in script.splitlines():
        if line == "import dgl":
            line = "import espalier.dgl as dgl"
        lines.append(re.sub(r"^from dgl(\.| )", r"from espalier.dgl\1", line))
    return "\n".join(lines)


def test_accuracy(g, model):
    """Returns the accuracy on the test nodes of all ranks, computed with all neighbors."""
    nodes = dgl.distributed.node_split(g.ndata["test_mask"], g.get_partition_book(), force_even=True)
    sampler = dgl.dataloading.MultiLayerFullNeighborSampler(2)
    counts = torch.zeros(2)
    model.eval()
    with torch.no_grad():
        for input_nodes, seeds, blocks in dgl.dataloading.DistNodeDataLoader(g, nodes, sampler, batch_size=500):
            rows, labels = load_subtensor(g, input_nodes, seeds)
            counts += torch.tensor([(model(blocks, rows).argmax(1) == labels).sum(), len(labels)])
    torch.distributed.all_reduce(counts)
    return counts.tolist()


def main(path, epochs, seed):
    torch.manual_seed(seed)
    dgl.seed(seed)
    names = {"device": "cpu", "batch_size": 16, "in_feats": 1433, "num_hidden": 256, "n_classes": 7, "num_layers": 2,
             "F": functional, "nn": nn, "optim": torch.optim, "dropout": 0.8, "SAGE": SAGE,
             "load_subtensor": load_subtensor, "args": types.SimpleNamespace(lr=0.005, num_epochs=epochs)}
    with open(path) as file:
        exec(compile(changed(file.read()), path, "exec"), names)
    g = names["g"]
    torch.distributed.all_reduce(read)
    ids_read = read.item()
    right, count = test_accuracy(g, names["model"].module)
    if g.rank() == 0:
        print(json.dumps({"ranks": g.world_size, "partitions": g.get_partition_book().num_partitions(),
                          "testAccuracy": right / count, "testNodes": count, "idsRead": ids_read,
                          "espalier": ep.__version__}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
