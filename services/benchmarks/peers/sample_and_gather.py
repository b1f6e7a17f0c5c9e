"""Neighbor sampling and feature gather of DGL and GraphBolt, on a graph that `espalier generate` wrote.

Prints one JSON object. Run by compare_peers.py with the number of threads in OMP_NUM_THREADS.
"""

import argparse
import json
import os
import pathlib
import time

import numpy as np
import torch

FANOUTS = [15, 10, 5]  # by layer, the seeds' last: the order of DGL, GraphBolt and Espalier alike
WARM_UP = 4


def edge_ends(folder):
    sources = np.load(folder / "edges.node___edge___node.sources.npy", mmap_mode="r")
    destinations = np.load(folder / "edges.node___edge___node.destinations.npy", mmap_mode="r")
    return torch.from_numpy(sources.astype(np.int64)), torch.from_numpy(destinations.astype(np.int64))


def seed_batches(num_nodes, count, batch_size):
    generator = torch.Generator().manual_seed(7)
    return [torch.randperm(num_nodes, generator=generator)[:batch_size] for _ in range(count)]


def edges_a_second(sample, batches):
    """Measures sample(seeds), which returns the numbers of edges and nodes of one mini-batch."""
    for seeds in batches[:WARM_UP]:
        sample(seeds)
    start, edges, nodes = time.perf_counter(), 0, 0
    for seeds in batches[WARM_UP:]:
        more_edges, more_nodes = sample(seeds)
        edges, nodes = edges + more_edges, nodes + more_nodes
    seconds, count = time.perf_counter() - start, len(batches) - WARM_UP
    return {"edges_per_second": edges / seconds, "edges_per_batch": edges / count, "nodes_per_batch": nodes / count}


def dgl_sampler(graph):
    import dgl
    sampler = dgl.dataloading.NeighborSampler(FANOUTS)

    def sample(seeds):
        inputs, _, blocks = sampler.sample_blocks(graph, seeds)
        return sum(block.num_edges() for block in blocks), len(inputs)
    return sample


def graphbolt_sampler(indptr, indices):
    import dgl.graphbolt as gb
    graph = gb.fused_csc_sampling_graph(indptr, indices)
    fanouts = [torch.tensor([fanout]) for fanout in FANOUTS]

    def sample(seeds):
        edges = 0
        for fanout in reversed(fanouts):
            hop = graph.sample_neighbors(seeds, fanout)
            csc = hop.sampled_csc
            seeds, compacted = gb.unique_and_compact_csc_formats(csc, seeds)
            edges += len(compacted.indices)
        return edges, len(seeds)
    return sample


def gather_rates(num_nodes, width, count):
    import dgl.graphbolt as gb
    features = torch.rand(num_nodes, width)
    rows = [torch.randint(num_nodes, (count,), generator=torch.Generator().manual_seed(t)) for t in range(2)]
    graphbolt = gb.TorchBasedFeature(features)
    ways = {"torch": lambda ids: features.index_select(0, ids), "graphbolt": graphbolt.read}
    rates = {}
    for name, gather in ways.items():
        best = float("inf")
        for run in range(8):
            start = time.perf_counter()
            gather(rows[run % 2])
            best = min(best, time.perf_counter() - start)
        rates[name] = count * width * 4 / best
    return rates


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graph", type=pathlib.Path)
    parser.add_argument("--nodes", type=int, required=True)
    parser.add_argument("--batches", type=int, default=60)
    parser.add_argument("--batch-size", type=int, default=1024)
    parser.add_argument("--rows", type=int, default=800_000)
    parser.add_argument("--width", type=int, default=100)
    options = parser.parse_args()
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))

    import dgl
    # 64-bit ids: with 32-bit ones the fused path of DGL 2.1 draws fewer edges from batch to batch.
    graph = dgl.graph(edge_ends(options.graph), num_nodes=options.nodes).formats("csc")
    graph.create_formats_()
    batches = seed_batches(options.nodes, options.batches + WARM_UP, options.batch_size)
    figures = {"versions": {"torch": torch.__version__, "dgl": dgl.__version__},
               "dgl": edges_a_second(dgl_sampler(graph), batches)}
    indptr, indices, _ = graph.adj_tensors("csc")
    del graph
    batches = [batch.to(torch.int32) for batch in batches]
    figures["graphbolt"] = edges_a_second(graphbolt_sampler(indptr, indices.to(torch.int32)), batches)
    del indptr, indices
    figures["gather"] = gather_rates(options.nodes, options.width, options.rows)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
