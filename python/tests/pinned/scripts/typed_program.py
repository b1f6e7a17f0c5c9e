"""A program for a type checker, with the result types of the package's calls. It is never run."""

import pathlib
from typing import assert_type

import numpy as np
import torch

import espalier as ep
import espalier.dgl as dgl
import espalier.dgl.function as fn
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


def layers(g: ep.DistGraph, batch: ep.MiniBatch, x: torch.Tensor) -> None:
    block, keys = batch.blocks[0], ep.nn.StepKeys(g, batch, seed=1)
    assert_type(keys.ids("paper", 10), np.ndarray | torch.Tensor)
    edges = ep.nn.Edges.of_block(ep.nn.RelationBlock(block, "cites"), self_loops=True)
    assert_type(edges.num_edges, int)
    weights = ep.nn.functional.edge_softmax(edges, ep.nn.functional.additive_scores(edges, x, x, 0.1))
    assert_type(ep.nn.functional.segment_sum(edges, x, source_scale=edges.out_degrees()), torch.Tensor)
    attention = ep.nn.GATConv((16, 8), 4, num_heads=2, activation=torch.relu, etype=("paper", "cites", "paper"))
    attention(block, (x, x), edge_weight=weights, keys=keys)
    attention.forward(block, x, get_attention=True)
    by_relation = ep.nn.HeteroGraphConv({"cites": ep.nn.GraphConv(16, 8)}, lambda rows, ntype: rows[0])
    assert_type(by_relation.forward(block, {"paper": x}), dict[str, torch.Tensor])
    model = ep.nn.load_model(g, pathlib.Path("best.safetensors"), dropout=0.5)
    assert_type(model, ep.nn.models.GraphModel)
    assert_type(model.metadata(), dict[str, str])
    degrees = ep.nn.models.degrees_of(g, batch)
    ep.nn.models.GCN(g, {"paper": 16}, 8, 4, relations=[["cites"], [("paper", "cites", "paper")]], seed=1)(
        batch.blocks, x, keys, degrees)
    ep.nn.models.GraphSAGE(g, 16, 8, 4, aggregator="pool", group=None).save("mine.safetensors", features="feat")


def script_of_dgl() -> None:
    dgl.distributed.initialize("ip_config.txt")
    g = dgl.distributed.DistGraph("cora", part_config=pathlib.Path("cora.json"))
    nodes = dgl.distributed.node_split(g.ndata["train_mask"], g.get_partition_book(), force_even=True)
    assert_type(nodes, torch.Tensor)
    assert_type(g.get_partition_book().num_partitions(), int)
    sampler = dgl.dataloading.NeighborSampler([10, {"cites": 5}], prob="weight")
    loader = dgl.dataloading.DistNodeDataLoader(g, nodes, sampler, torch.device("cpu"), batch_size=64, shuffle=True)
    for _, seeds, blocks in loader:
        assert_type(g.ndata["feat"][seeds], torch.Tensor)
        blocks[0].update_all(fn.u_mul_e("h", "w", out="m"), fn.mean("m", "h"))
    pairs = dgl.dataloading.DistEdgeDataLoader(
        g, dgl.distributed.edge_split(torch.ones(9), g.get_partition_book()),
        dgl.dataloading.as_edge_prediction_sampler(sampler, exclude="self",
                                                   negative_sampler=dgl.dataloading.negative_sampler.Uniform(5)))
    for _, positive, _, (block,) in pairs:
        positive.apply_edges(fn.u_dot_v("h", "h", "score"))
        ep.nn.SAGEConv(16, 8, "mean")(block, torch.zeros(9, 16))
    block = dgl.to_block(dgl.distributed.sample_neighbors(g, {"paper": [0, 1]}, {"cites": 5}), {"paper": [0, 1]})
    assert_type(block.num_edges("cites"), int)
    sources, destinations, numbers = block.edges(form="all", order="srcdst", etype="cites")
    dgl.dataloading.negative_sampler.GlobalUniform(5, exclude_self_loops=False)
    with block.local_scope():
        block.update_all(lambda edges: {"m": edges.src["h"]}, fn.sum("m", "h"))
    rows = dgl.distributed.DistEmbedding(g.num_nodes(), 16, init_func=lambda shape, dtype: torch.zeros(shape))
    dgl.distributed.optim.SparseAdam([rows], lr=0.1).step()
    assert_type(rows(nodes), torch.Tensor)
    g.ndata["h"] = dgl.distributed.DistTensor((g.num_nodes(), 16), torch.float32, name="h")
    assert_type(g.in_degrees(), torch.Tensor)
    graph = dgl.graph(([0, 1], [1, 2]), num_nodes=3)
    assert_type(graph.num_edges(), int)
    dgl.distributed.partition_graph(graph, "small", 2, "parts")


def store(g: ep.DistGraph) -> None:
    table = ep.DistTensor.create(g, (1000, 8), "float32", name="table")
    assert_type(table[[1, 2]], np.ndarray)
    assert_type(table.dtype, np.dtype)
    table[[1, 2]] = [[0.5] * 8] * 2
    table.add(table[:], 1)
    ep.write_edge_predictions(g, ep.EdgesOfSplit("rated", "test"), lambda sources, destinations: sources - destinations,
                              task="regression")
    ep.write_edge_predictions(g, {"pairs": ([0, 1], np.arange(2)), "edges": [3]}, {"pairs": [0.5, 0.25], "edges": table},
                              etype="cites", uri=pathlib.Path("outputs"), attributes={"model": "mine"})
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
