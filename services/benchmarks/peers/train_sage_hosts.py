"""GraphSAGE in DGL's distributed package, as its users write it, on a graph that `espalier generate` wrote.

One program, three roles: `partition GRAPH FOLDER` cuts the graph in two with METIS; `server` and `client`, which read DGL's own
variables (DGL_ROLE, DGL_CONF_PATH, ...), are one graph server and one trainer of a host, and the trainer of rank 0 prints one
JSON object. two_hosts.py starts them.
"""

import argparse
import json
import os
import pathlib
import time

import dgl
import numpy as np
import torch
import torch.nn.functional as F

from train_sage import Sage, load

HOSTS = 2


def partition(arguments):
    graph, split = load(arguments.graph)
    graph = graph.formats(["coo", "csr", "csc"])  # partition_graph requires these formats
    graph.ndata["train"] = torch.zeros(graph.num_nodes(), dtype=torch.bool)
    graph.ndata["train"][split["train"]] = True
    dgl.distributed.partition_graph(graph, "graph", HOSTS, str(arguments.folder), part_method="metis",
                                    balance_ntypes=graph.ndata["train"])


def serve(_):
    dgl.distributed.initialize(os.environ["DGL_IP_CONFIG"])  # returns when the trainers have ended


def train(arguments):
    torch.set_num_threads(1)
    torch.manual_seed(1)
    dgl.distributed.initialize(os.environ["DGL_IP_CONFIG"])
    torch.distributed.init_process_group("gloo")
    graph = dgl.distributed.DistGraph("graph", part_config=os.environ["DGL_CONF_PATH"])
    nodes = dgl.distributed.node_split(graph.ndata["train"], graph.get_partition_book(), force_even=True)
    classes = int(graph.ndata["label"][torch.arange(graph.num_nodes())].max()) + 1
    widths = [graph.ndata["feat"].shape[1]] + [arguments.hidden] * (len(arguments.fanouts) - 1) + [classes]
    model = torch.nn.parallel.DistributedDataParallel(Sage(widths, arguments.dropout))
    optimizer = torch.optim.Adam(model.parameters(), lr=arguments.learning_rate)
    loader = dgl.dataloading.DistNodeDataLoader(graph, nodes, dgl.dataloading.NeighborSampler(arguments.fanouts),
                                                batch_size=arguments.batch_size, shuffle=True, drop_last=False)
    seconds, steps, loss = [], 0, None
    for _ in range(arguments.epochs):
        torch.distributed.barrier()
        start, steps = time.perf_counter(), 0
        with model.join():
            for inputs, outputs, blocks in loader:
                rows, labels = graph.ndata["feat"][inputs], graph.ndata["label"][outputs]
                loss = F.cross_entropy(model(blocks, rows), labels)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                steps += 1
        torch.distributed.barrier()
        seconds.append(time.perf_counter() - start)
    if torch.distributed.get_rank() == 0:
        print(json.dumps({"secondsPerEpoch": seconds, "steps": steps, "loss": float(np.float32(loss.item()))}), flush=True)
    torch.distributed.barrier()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    roles = parser.add_subparsers(required=True)
    cuts = roles.add_parser("partition")
    cuts.add_argument("graph", type=pathlib.Path)
    cuts.add_argument("folder", type=pathlib.Path)
    cuts.set_defaults(run=partition)
    roles.add_parser("server").set_defaults(run=serve)
    trains = roles.add_parser("client")
    trains.add_argument("--fanouts", type=int, nargs="+", required=True)
    trains.add_argument("--hidden", type=int, required=True)
    trains.add_argument("--batch-size", type=int, required=True, help="of each trainer")
    trains.add_argument("--epochs", type=int, required=True)
    trains.add_argument("--dropout", type=float, required=True)
    trains.add_argument("--learning-rate", type=float, required=True)
    trains.set_defaults(run=train)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
