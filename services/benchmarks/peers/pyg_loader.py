"""PyG's NeighborLoader beside Espalier's loaders: mini-batches with features, on a graph of `espalier generate`.

    espalier generate --nodes 100000 --edges 5000000 --features 100 --classes 10 --train 0.3 --seed 3 --output graph
    espalier partition graph --format NPY --count 1 --output parts
    ESPALIER_PARTITIONS=parts/KEY python pyg_loader.py [--library _neighbor_sample.so]

Needs torch and PyG, with pyg-lib or torch-sparse; --library: torch-sparse's operators of that name alone, compiled from
its csrc/neighbor_sample.cpp and csrc/cpu/neighbor_sample_cpu.cpp. All use one thread each for sampling and for
features. Prints for each epoch what it contained, its time by the wall clock, and that of processors.
"""

import argparse
import time
import warnings

import numpy as np
import torch
import torch_geometric.typing
from torch_geometric.data import Data
from torch_geometric.loader import NeighborLoader, NodeLoader

import espalier as ep
from espalier import pyg

FANOUTS = [10, 10]
BATCH_SIZE = 1000
EPOCHS = 3


def measure(name, batches):
    wall, processors = time.perf_counter(), time.process_time()
    counts = np.zeros(3, np.int64)
    for data in batches:
        if data.x.shape[0] != data.num_nodes:
            raise RuntimeError(f"{name}: {data.x.shape[0]} rows of features for {data.num_nodes} nodes")
        counts += 1, data.num_nodes, data.num_edges
    print(f"{name}: {counts[0]} batches, {counts[1]} nodes, {counts[2]} edges, "
          f"{time.perf_counter() - wall:.2f} s, processors {time.process_time() - processors:.2f} s", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library")
    library = parser.parse_args().library
    if library:
        torch.ops.load_library(library)
        torch_geometric.typing.WITH_TORCH_SPARSE = True
    warnings.simplefilter("ignore")  # PyG's, that torch-sparse is deprecated
    torch.set_num_threads(1)

    g = ep.DistGraph()
    train = torch.from_numpy(g.split_nodes("random", "train"))
    edges = torch.from_numpy(np.stack(g.find_edges(np.arange(g.num_edges()))))
    whole = Data(x=torch.from_numpy(g.ndata["node-feat"][:]), edge_index=edges, num_nodes=g.num_nodes())
    theirs = NeighborLoader(whole, FANOUTS, train, batch_size=BATCH_SIZE, shuffle=True)
    sampler = ep.NeighborSampler(FANOUTS, prefetch_node_feats="node-feat", edge_ids=True, expand="Once")
    own = ep.DistNodeDataLoader(g, ep.NodesOfSplit("random", "train"), sampler, batch_size=BATCH_SIZE)
    stores = pyg.FeatureStore(g, {"x": "node-feat"}), pyg.GraphStore(g)
    through_stores = NodeLoader(stores, pyg.NeighborSampler(g, FANOUTS), train, batch_size=BATCH_SIZE, shuffle=True)
    for _ in range(EPOCHS):
        measure("NeighborLoader of PyG", theirs)
        measure("DistNodeDataLoader, to_data", (batch.to_data(x="node-feat") for batch in own))
        measure("NodeLoader of PyG, espalier.pyg", through_stores)


if __name__ == "__main__":
    main()
