"""Link prediction on a knowledge graph by DistMult (Yang et al. 2015): learnable rows of entities on the servers, relations in
the program, and the filtered mean reciprocal rank of the test triples. Needs torch.

    ESPALIER_PARTITIONS=parts/KEY python knowledge_graph.py [--size 128] [--negatives 256] [--batch-size 1024] [--epochs 10]

The graph: `format: Triples` with `addReverseEdges`, so that both ends of a triple are ranked (docs/edge-tasks.md).
"""

import argparse

import numpy as np
import torch
import torch.nn.functional as F

import espalier as ep


# [example]
def shared(negatives):
    """Yields (begin, end) of each run of edges that share their negatives, an array [edges, count]."""
    ends = np.flatnonzero((negatives[1:] != negatives[:-1]).any(axis=1)) + 1
    return zip([0, *ends], [*ends, len(negatives)])


def loss_of(links, rows, relations):
    """Returns the sum of -log softmax of each edge's score among those of the edge and its negatives."""
    heads = rows[links.sources] * relations[links.relations]
    scores = (heads * rows[links.destinations]).sum(1, keepdim=True)
    _, negatives, valid = links.negatives()
    against = torch.cat([heads[begin:end] @ rows[negatives[begin]].T for begin, end in shared(negatives)])
    against = against.masked_fill(~torch.from_numpy(valid), -torch.inf)  # edges of the batch are no negatives
    return (torch.logsumexp(torch.cat([scores, against], 1), 1) - scores[:, 0]).sum()


def train(g, group, emb, relations, options):
    loader = ep.DistEdgeDataLoader(g, ep.EdgesOfSplit("files", "train", g.canonical_etypes), ep.NeighborSampler([]),
                                   batch_size=options.batch_size, seed=1,
                                   negative_sampler=ep.negative_sampler.Joint(options.negatives))
    optimizer = torch.optim.Adam([relations], lr=0.01)
    sparse_optimizer = ep.optim.SparseAdagrad([emb], lr=0.1)
    for epoch in range(options.epochs):
        total = np.zeros(1)
        for batch in loader:  # every rank gets the same number of batches
            rows = F.dropout(emb(batch.output_nodes), options.dropout)
            loss = loss_of(batch.links, rows, relations) / batch.global_num_seeds
            optimizer.zero_grad()
            loss.backward()
            group.all_reduce(relations.grad.numpy())
            optimizer.step()
            sparse_optimizer.step()
            total += loss.item()
        group.all_reduce(total)
        if group.rank == 0:
            print(f"epoch {epoch}: loss {total[0] / len(loader):.4f}")
# [example]


def ranks_of(heads, tails, known, relation, entities):
    """Returns the rank of each tail among all entities but the known tails of its head; ties count half."""
    scores = (entities[heads] * relation) @ entities.T
    own = scores[np.arange(len(tails)), tails][:, None]
    rows, columns = np.nonzero(heads[:, None] == known[0])
    scores[rows, known[1][columns]] = -np.inf  # the tail itself too
    return 1 + (scores > own).sum(1) + (scores == own).sum(1) / 2


def mean_reciprocal_rank(g, group, emb, relations):
    entities = emb[np.arange(g.num_nodes())]
    sums = np.zeros(2)  # of reciprocal ranks, and triples
    for number, etype in list(enumerate(g.canonical_etypes))[group.rank::group.size]:
        known = np.concatenate([g.split_edges("files", part, etype) for part in ("train", "validation", "test")], 1)
        heads, tails = g.split_edges("files", "test", etype)
        for begin in range(0, len(heads), 256):
            some = slice(begin, begin + 256)
            sums += [(1 / ranks_of(heads[some], tails[some], known, relations[number], entities)).sum(), len(heads[some])]
    group.all_reduce(sums)
    return sums[0] / sums[1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=128)
    parser.add_argument("--negatives", type=int, default=256)
    parser.add_argument("--batch-size", type=int, default=1024)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--dropout", type=float, default=0.2)
    options = parser.parse_args()
    g = ep.DistGraph()
    group = ep.init_process_group(g)
    torch.manual_seed(1)  # the same first relations on every rank
    relations = torch.empty(len(g.canonical_etypes), options.size).uniform_(-0.5, 0.5).requires_grad_()
    emb = ep.DistEmbedding(g, group, options.size, ntype="entity", name="entities", init="uniform",
                           init_values=(-0.05, 0.05), seed=1)
    train(g, group, emb, relations, options)
    mrr = mean_reciprocal_rank(g, group, emb, relations.detach().numpy())
    if group.rank == 0:
        print(f"test MRR: {mrr:.3f}")


if __name__ == "__main__":
    main()
