"""Link prediction on Cora by a script as DGL's users write them: learnable rows of nodes, an edge loader with
negatives, and `import dgl` changed to `import espalier.dgl as dgl`.

    ESPALIER_PARTITIONS=parts/KEY python dgl_link_prediction.py

Needs PyTorch.
"""

# [example]
import espalier.dgl as dgl  # was: import dgl
import espalier.dgl.function as fn  # was: import dgl.function as fn
import torch as th
import torch.nn.functional as F


def scores(pairs, h):
    """Returns the dot products of the ends of pairs."""
    with pairs.local_scope():
        pairs.ndata["h"] = h
        pairs.apply_edges(fn.u_dot_v("h", "h", "score"))
        return pairs.edata["score"]


def uniform(shape, dtype):
    return th.empty(shape, dtype=dtype).uniform_(-0.5, 0.5)


def main():
    th.manual_seed(1)
    dgl.distributed.initialize("ip_config.txt")
    g = dgl.distributed.DistGraph("cora")
    edges = dgl.distributed.edge_split(th.ones(g.num_edges(), dtype=th.bool), g.get_partition_book())
    sampler = dgl.dataloading.as_edge_prediction_sampler(
        dgl.dataloading.NeighborSampler([10]), exclude="reverse_id",
        negative_sampler=dgl.dataloading.negative_sampler.Uniform(5))
    loader = dgl.dataloading.DistEdgeDataLoader(g, edges, sampler, batch_size=512, shuffle=True)
    emb = dgl.distributed.DistEmbedding(g.num_nodes(), 32, name="nodes", init_func=uniform)
    optimizer = dgl.distributed.optim.SparseAdagrad([emb], lr=0.1)
    for epoch in range(3):
        losses = []
        for input_nodes, pos_graph, neg_graph, (block,) in loader:
            rows = emb(input_nodes)
            with block.local_scope():
                block.srcdata["h"] = rows
                block.update_all(fn.copy_u("h", "m"), fn.mean("m", "mean"))
                h = rows[:block.num_dst_nodes()] + block.dstdata["mean"]
            positive, negative = scores(pos_graph, h), scores(neg_graph, h)
            loss = F.softplus(-positive).mean() + F.softplus(negative).mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        if g.rank() == 0:
            print(f"epoch {epoch} loss {sum(losses) / len(losses):.3f}")
# [example]


if __name__ == "__main__":
    main()
