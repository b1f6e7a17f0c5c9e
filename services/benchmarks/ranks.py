#!/usr/bin/env python3
"""Measures how the time and the cost of an epoch change with the number of trainers.

Each trainer is on a host of its own with one graph server, which `espalier launch` starts. The hosts are network
namespaces of this machine, connected at --rate, so they share its processors: with more trainers than processors an epoch
cannot become faster, but the processor seconds of an epoch tell what distribution costs. They count everything that runs on
this machine, which must be idle otherwise. Every trainer has one thread and its own batch of --batch-size training nodes, so
more trainers make fewer steps. Requires root and sshd.

    services/benchmarks/ranks.py
    services/benchmarks/ranks.py --scale 0.05 --trainers 1 2 --rate 1gbit
"""

import argparse
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from compare_peers import PRODUCTS_EDGES, PRODUCTS_NODES, generate  # noqa: E402
from launched_hosts import parse_fanouts, sage_job, train  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=HERE.parents[1] / "build/release/bin")
    parser.add_argument("--trainers", type=int, nargs="+", default=[1, 2, 4, 8], help="numbers of trainers")
    parser.add_argument("--scale", type=float, default=0.2042, help="size of the graph as a fraction of ogbn-products")
    parser.add_argument("--train", type=float, default=0.08, help="fraction of training nodes")
    parser.add_argument("--algorithm", default="METIS", help="partitioning algorithm")
    parser.add_argument("--rate", default="10gbit", help="network rate of each host in the notation of tc")
    parser.add_argument("--fanouts", default="15,10,5",
                        help="fan-outs from the output layer to the input layer, as in the job document")
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--dropout", type=float, default=0.5)
    parser.add_argument("--learning-rate", type=float, default=0.003)
    parser.add_argument("--batch-size", type=int, default=1000, help="batch size of each trainer")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--folder", type=pathlib.Path, help="folder that keeps the graph and its partitions")
    options = parser.parse_args()
    if options.epochs < 4:
        parser.error("--epochs: at least 4 (the first and the last are not counted, and an epoch is measured from the end "
                     "of the one before it)")
    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.folder or pathlib.Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        graph = generate(options.bin, folder / "graph", round(PRODUCTS_NODES * options.scale),
                         round(PRODUCTS_EDGES * options.scale), "--features", 100, "--classes", 16, "--train",
                         options.train, "--validation", 0.001, "--test", 0.001)
        columns = ("trainers", "an epoch", "processor seconds", "relative to the first row", "bytes over the network",
                   "test accuracy")
        print(f"| {' | '.join(columns)} |\n" + "|---" * len(columns) + "|", flush=True)
        first = None
        with tempfile.TemporaryDirectory(dir=folder) as runs:
            for count in options.trainers:
                job = sage_job(graph, folder / "partitions", count, options, parse_fanouts(options.fanouts))
                epochs = train(options.bin, pathlib.Path(runs) / f"run-{count}", job, count, options.rate)
                first = first or epochs
                print(f"| {count} | {epochs.seconds:.2f} s | {epochs.busy_seconds:.1f} s | "
                      f"{epochs.busy_seconds / first.busy_seconds:.2f} x | {epochs.sent_bytes / 1e6:.0f} MB | "
                      f"{100 * epochs.result['testAccuracy']:.1f} % |", flush=True)


if __name__ == "__main__":
    main()
