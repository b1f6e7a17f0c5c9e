"""Layers of graph neural networks for PyTorch, for the blocks of Espalier's loaders. Requires torch, unlike `import
espalier`.

    import espalier as ep
    import espalier.nn

    layer = ep.nn.SAGEConv(1433, 64, "mean")
    rows = layer(block, x)  # x: float32 [block.num_src_nodes(), 1433]

Constructors and calls are those of DGL's layers of the same name, with a block instead of the graph. On CPUs, forward
and backward run in the kernels of the C++ trainer (espalier.nn.functional), in float32. On GPUs, for blocks that
`batch.to("cuda")` has moved, they run in torch's operations. Dropout drops the same elements on both.
"""

from espalier.nn import functional, models
from espalier.nn.attention import GATConv, GATv2Conv
from espalier.nn.batch_norm import BatchNorm
from espalier.nn.blocks import RelationBlock
from espalier.nn.buffers import set_buffer_limit
from espalier.nn.conv import GraphConv, SAGEConv
from espalier.nn.dropout import Dropout, StepKeys
from espalier.nn.functional import Edges, keep_memory
from espalier.nn.hetero import HeteroGraphConv, HGTConv, RelGraphConv
from espalier.nn.models import load_model

__all__ = [
    "BatchNorm", "Dropout", "Edges", "functional", "GATConv", "GATv2Conv", "GraphConv", "HeteroGraphConv", "HGTConv",
    "keep_memory", "load_model", "models", "RelationBlock", "RelGraphConv", "SAGEConv", "set_buffer_limit", "StepKeys",
]
