"""Writes a model of your own as TorchScript: python own_model.py own-model.pt

The module computes one layer at a time, as docs/models.md describes. It implements GraphSAGE with mean aggregation for
graphs with the node type "node" and the relation "node:edge:node"; replace it by your own model. The version of PyTorch
must not be newer than that of the trainer, which result.json contains ("torch").
"""

import argparse
from typing import Dict, Tuple

import torch
from torch import Tensor


class OwnModel(torch.nn.Module):
    def __init__(self, features: int, hidden: int, classes: int):
        super().__init__()
        self.weight0 = torch.nn.Parameter(torch.empty(2 * features, hidden))
        self.weight1 = torch.nn.Parameter(torch.empty(2 * hidden, classes))
        for weight in (self.weight0, self.weight1):
            torch.nn.init.xavier_uniform_(weight)

    def forward(self, layer: int, x: Dict[str, Tensor], blocks: Dict[str, Tuple[Tensor, Tensor]],
                num_rows: Dict[str, int]) -> Dict[str, Tensor]:
        h = torch.dropout(x["node"], 0.5, self.training)
        indptr, indices = blocks["node:edge:node"]
        degree = indptr[1:] - indptr[:-1]
        row = torch.repeat_interleave(torch.arange(degree.size(0)), degree)
        total = torch.zeros([degree.size(0), h.size(1)]).index_add(0, row, h.index_select(0, indices))
        mean = total / degree.clamp(min=1).unsqueeze(1)
        both = torch.cat([h[:num_rows["node"]], mean], 1)
        if layer == 0:
            y = torch.relu(torch.mm(both, self.weight0))
        else:
            y = torch.mm(both, self.weight1)
        return {"node": y}


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description="Writes a GraphSAGE of two layers for Cora as a TorchScript module.")
    arguments.add_argument("file", help="where to, for example own-model.pt")
    torch.manual_seed(1)
    torch.jit.script(OwnModel(features=1433, hidden=64, classes=7)).save(arguments.parse_args().file)
