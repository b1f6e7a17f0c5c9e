"""A program that a type checker reads, and that is never run: what calls of the package give."""

import pathlib
from typing import assert_type

import numpy as np
import torch

import espalier as ep
import espalier.nn
from espalier.typing import Ids


def sample(g: ep.DistGraph) -> None:
    assert_type(g.num_nodes("paper"), int)
    assert_type(g.canonical_etypes, list[tuple[str, str, str]])
    assert_type(g.split_nodes("public", "test"), np.ndarray)
    sources, destinations = g.find_edges([0, 1])
    assert_type(sources, np.ndarray)
    column = g.ndata["feat"]
    assert_type(column.shape, tuple[int, ...])
    frontier = ep.sample_neighbors(g, {"paper": range(10)}, {("author", "writes", "paper"): 5, "cites": -1})
    ep.sample_neighbors(g, np.arange(3), 5, prob="weight", seed=7)
    g.to_original_ids(torch.arange(4))
    ids: Ids = ep.node_split(np.ones(10, bool), g)
    g.to_global_ids(ids, "paper")
    ep.random_walk(g, ids, ["cites", ("paper", "cites", "paper")], restart_prob=[0.1, 0.2])
    assert_type(ep.to_block(g, frontier), ep.Block)
    assert_type(ep.node_split(ep.NodesOfSplit("public", "train"), g).largest, int | None)


def train(g: ep.DistGraph, group: ep.ProcessGroup, layer: ep.nn.SAGEConv) -> float:
    ep.nn.SAGEConv(16, 8, "mean")
    sampler = ep.NeighborSampler([10], prefetch_node_feats="feat")
    loader = ep.DistNodeDataLoader(g, ep.NodesOfSplit("public"), sampler, batch_size=64, seed=1)
    rows = ep.DistEmbedding(g, group, 16, ntype="node", name="rows")
    optimizer = ep.optim.SparseAdagrad([rows], lr=0.1)
    total = 0.0
    for batch in loader:
        assert_type(batch, ep.MiniBatch)
        assert_type(batch.epoch, int)
        assert_type(batch.blocks, list[ep.Block])
        assert_type(rows(batch.input_nodes), torch.Tensor)
        optimizer.step()
        loss: torch.Tensor = layer(batch.blocks[0], torch.zeros(1, 16)).sum()
        total += loss.item() / len(loader)
    return total


def store(g: ep.DistGraph) -> None:
    table = ep.DistTensor.create(g, (1000, 8), "float32", name="table")
    assert_type(table[[1, 2]], np.ndarray)
    assert_type(table.dtype, np.dtype)
    table[[1, 2]] = [[0.5] * 8] * 2
    table.add(table[:], 1)
    group = ep.init_process_group(g)
    checkpoint = ep.checkpoint.resume(g, group, pathlib.Path("checkpoints"))
    model = torch.nn.Linear(8, 8)
    loader = ep.DistEdgeDataLoader(g, ep.EdgesOfSplit("links", etypes=["cites"]), ep.LaborSampler([5]), batch_size=8,
                                   negative_sampler=ep.negative_sampler.Uniform(2), reverse_etypes={"cites": "cites"})
    if checkpoint is not None:
        checkpoint.restore(loader=loader, model=model)
    ep.checkpoint.save(g, group, "checkpoints", loader=loader, model=model, tensors=[table], state={"best": 0.5})
    ep.write_embeddings(g, {"paper": table}, group, nodes={"paper": [3, 1]})


def jobs(document: dict[str, object]) -> None:
    results = ep.run("job.yaml", "out", set={"training.epochs": 5})
    assert_type(results, ep.Results)
    assert_type(ep.submit(document).wait(timeout=60), ep.Job)
    with ep.serve(results.partitions, servers=2) as servers:
        assert_type(servers.addresses, list[str])
        assert_type(servers.graph(), ep.DistGraph)
    try:
        ep.DistGraph(ep.partition("graph", "partitions"))
    except ep.NotFound as error:
        assert_type(error.exit_code, int)
