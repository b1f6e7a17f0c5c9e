"""A script as DGL's users write them: GraphSAGE on Cora, with `import dgl` changed to `import espalier.dgl as dgl`.

    espalier run --set graph.source.uri=services/examples/cora --set graph.source.format=OGB \
      --set trainers.replicas=2 --output out -- python dgl_graphsage.py
    ESPALIER_PARTITIONS=parts/KEY python dgl_graphsage.py

Needs PyTorch.
"""

# [example]
import espalier.dgl as dgl  # was: import dgl
import espalier.dgl.function as fn  # was: import dgl.function as fn
import torch as th
import torch.nn.functional as F


class MeanConv(th.nn.Module):
    def __init__(self, in_feats, out_feats):
        super().__init__()
        self.own = th.nn.Linear(in_feats, out_feats)
        self.neighbors = th.nn.Linear(in_feats, out_feats, bias=False)

    def forward(self, block, h):
        with block.local_scope():
            block.srcdata["h"] = h
            block.update_all(fn.copy_u("h", "m"), fn.mean("m", "mean"))
            return self.own(h[:block.num_dst_nodes()]) + self.neighbors(block.dstdata["mean"])


class SAGE(th.nn.Module):
    def __init__(self, in_feats, hidden, classes):
        super().__init__()
        self.layers = th.nn.ModuleList([MeanConv(in_feats, hidden), MeanConv(hidden, classes)])

    def forward(self, blocks, h):
        h = F.relu(self.layers[0](blocks[0], F.dropout(h, 0.8, self.training)))
        return self.layers[1](blocks[1], F.dropout(h, 0.8, self.training))


def accuracy(g, pb, model):
    """Returns the share of the test nodes of all ranks that the model classifies right."""
    nodes = dgl.distributed.node_split(g.ndata["test_mask"], pb)
    loader = dgl.dataloading.DistNodeDataLoader(g, nodes, dgl.dataloading.MultiLayerFullNeighborSampler(2),
                                                batch_size=500)
    counts = th.zeros(2)
    model.eval()
    with th.no_grad():
        for input_nodes, seeds, blocks in loader:
            right = model(blocks, g.ndata["node-feat"][input_nodes]).argmax(1) == g.ndata["node-label"][seeds].flatten()
            counts += th.tensor([right.sum(), len(right)])
    th.distributed.all_reduce(counts)
    return counts[0] / counts[1]


def main():
    th.manual_seed(1)
    dgl.seed(1)
    dgl.distributed.initialize("ip_config.txt")  # reads no file: the job says where servers and ranks are
    th.distributed.init_process_group("gloo")
    g = dgl.distributed.DistGraph("cora")
    pb = g.get_partition_book()
    train_nid = dgl.distributed.node_split(g.ndata["train_mask"], pb, force_even=True)
    sampler = dgl.dataloading.NeighborSampler([10, 25])
    loader = dgl.dataloading.DistNodeDataLoader(g, train_nid, sampler, batch_size=16, shuffle=True)
    model = th.nn.parallel.DistributedDataParallel(SAGE(g.ndata["node-feat"].shape[1], 256, 7))
    optimizer = th.optim.Adam(model.parameters(), lr=0.005)
    for epoch in range(30):
        with model.join():
            for input_nodes, seeds, blocks in loader:
                logits = model(blocks, g.ndata["node-feat"][input_nodes])
                loss = F.cross_entropy(logits, g.ndata["node-label"][seeds].flatten())
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    test_accuracy = accuracy(g, pb, model.module)
    if g.rank() == 0:
        print(f"test accuracy: {test_accuracy:.3f}")
# [example]


if __name__ == "__main__":
    main()
