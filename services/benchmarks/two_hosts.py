#!/usr/bin/env python3
"""Measures network traffic and epoch time on two hosts, with and without a cache of feature rows.

The hosts are network namespaces of this machine, connected at each of --rates. Each has one graph server and one trainer,
which `espalier launch` starts. Requires root and sshd; the whole graph takes about 12 GB of memory and 6 GB of disk space.

    services/benchmarks/two_hosts.py
    services/benchmarks/two_hosts.py --scale 0.05 --rates 1gbit --fanouts 25,10

--dgl PYTHON, a Python with DGL (compare_peers.py --help), adds DGL's distributed trainer: one graph server and one trainer on
each host, the same model and batches, a graph cut by DGL's METIS.

    services/benchmarks/two_hosts.py --scale 0.2042 --train 0.08 --hidden 256 --batch-size 1000 --fanouts 25,10 \
        --epochs 6 --dgl ~/dgl/bin/python
"""

import argparse
import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from compare_peers import PRODUCTS_EDGES, PRODUCTS_NODES, generate  # noqa: E402
from launched_hosts import connected_hosts, parse_fanouts, sage_job, train  # noqa: E402

FEATURES = 100
GOAL = 2.5


def train_with_cache(options, folder, graph, rate, fanouts, memory):
    """Returns the Epochs of training on two hosts with `memory` bytes of cache, 0 for none."""
    job = sage_job(graph, folder / "partitions", 2, options, fanouts)
    if memory:
        job["spec"]["trainers"]["featureCache"] = {"memory": str(memory), "steps": options.steps}
    return train(options.bin, folder / f"run-{rate}-{'-'.join(map(str, fanouts))}-{memory}", job, 2, rate)


DGL_PROGRAM = HERE / "peers/train_sage_hosts.py"
DGL_SECONDS = 3600
# DGL's processes on a machine share memory under names that are the same on every machine, so each host mounts its
# own /dev/shm.
SERVER_AND_TRAINER = """mount -t tmpfs tmpfs /dev/shm || exit
DGL_ROLE=server "$0" "$1" server &
DGL_ROLE=client "$0" "$@" || exit
wait"""


def cut_by_dgl(options, folder, graph):
    """Returns the file that describes DGL's partitions of the graph, and cuts the graph if there is none."""
    described = folder / "dgl-partitions/graph.json"
    if not described.exists():
        done = subprocess.run([options.dgl, DGL_PROGRAM, "partition", graph, described.parent], check=False,
                              capture_output=True, text=True, timeout=DGL_SECONDS)
        if done.returncode != 0:
            sys.exit(f"DGL's partitioning of {graph} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return described


def all_succeed(processes):
    """Waits until all processes have ended, or one has failed, or DGL_SECONDS have passed; returns whether all succeeded."""
    end = time.monotonic() + DGL_SECONDS
    while time.monotonic() < end:
        codes = [process.poll() for process in processes]
        if None not in codes or any(codes):
            return not any(codes)
        time.sleep(0.1)
    return False


def train_by_dgl(options, folder, described, rate, fanouts):
    """Returns the seconds of an epoch of DGL's trainer: the median without the first epoch."""
    with connected_hosts(folder / f"dgl-hosts-{rate}-{'-'.join(map(str, fanouts))}", 2, rate) as (hosts, _):
        config = folder / "ip_config.txt"
        config.write_text("".join(f"{address} 30050\n" for address in hosts.addresses))
        of_all = {"DGL_IP_CONFIG": config, "DGL_CONF_PATH": described, "DGL_NUM_SERVER": 1, "DGL_NUM_CLIENT": 2,
                  "DGL_NUM_SAMPLER": 0, "DGL_GRAPH_FORMAT": "csc", "DGL_KEEP_ALIVE": 0, "DGL_DIST_MODE": "distributed",
                  "OMP_NUM_THREADS": 1, "GLOO_SOCKET_IFNAME": "eth0", "MASTER_ADDR": hosts.addresses[0],
                  "MASTER_PORT": 30060, "WORLD_SIZE": 2, "LOCAL_RANK": 0}
        training = ["client", "--fanouts", *reversed(fanouts), "--hidden", options.hidden, "--batch-size", options.batch_size,
                    "--epochs", options.epochs, "--dropout", options.dropout, "--learning-rate", options.learning_rate]
        logs = [folder / f"dgl-{host}.log" for host in range(2)]
        with contextlib.ExitStack() as ended:
            processes = []
            for host, log in enumerate(logs):
                environment = os.environ | {name: str(value) for name, value in of_all.items()}
                environment |= {"DGL_SERVER_ID": str(host), "RANK": str(host)}
                command = ["unshare", "--mount", "sh", "-c", SERVER_AND_TRAINER, options.dgl, DGL_PROGRAM, *training]
                processes.append(subprocess.Popen(hosts.inside(host, *command), env=environment, stderr=subprocess.STDOUT,
                                                  stdout=ended.enter_context(log.open("w"))))
            if not all_succeed(processes):
                sys.exit("DGL's processes failed, or did not end in time:\n" + "\n".join(log.read_text() for log in logs))
        printed, = (line for line in logs[0].read_text().splitlines() if line.startswith("{"))
    return statistics.median(json.loads(printed)["secondsPerEpoch"][1:])


def compare(options, folder, graph, rate, fanouts):
    """Prints a row of the table."""
    memory = round(options.share * options.nodes * FEATURES * 4)
    without = train_with_cache(options, folder, graph, rate, fanouts, 0)
    with_cache = train_with_cache(options, folder, graph, rate, fanouts, memory)
    if with_cache.result["parametersDigest"] != without.result["parametersDigest"]:
        sys.exit("the parameters with a cache differ from those without one")
    cache = with_cache.result["featureCache"]
    rows = (cache["hitRows"] + cache["fetchedRows"]) / cache["fetchedRows"]
    fewer = without.sent_bytes / with_cache.sent_bytes
    goal = "" if fewer >= GOAL else f"; the goal of {GOAL} x is missed"
    print(f"| {rate} | {', '.join(map(str, fanouts))} | {without.sent_bytes / 1e6:.0f} MB | "
          f"{with_cache.sent_bytes / 1e6:.0f} MB | {fewer:.2f} x{goal} | {rows:.2f} x | {without.seconds:.1f} s | "
          f"{with_cache.seconds:.1f} s | {without.seconds / with_cache.seconds:.2f} x |", end="", flush=True)
    if options.dgl is None:
        print(flush=True)
        return
    by_dgl = train_by_dgl(options, folder, cut_by_dgl(options, folder, graph), rate, fanouts)
    print(f" {by_dgl:.1f} s | {by_dgl / min(without.seconds, with_cache.seconds):.2f} x |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=HERE.parents[1] / "build/release/bin")
    parser.add_argument("--scale", type=float, default=1.0, help="size of the graph as a fraction of ogbn-products")
    parser.add_argument("--train", type=float, default=0.02, help="fraction of training nodes")
    parser.add_argument("--algorithm", default="METIS", help="partitioning algorithm")
    parser.add_argument("--rates", nargs="+", default=["1gbit", "10gbit"], help="network rates in the notation of tc")
    parser.add_argument("--fanouts", nargs="+", default=["25,10", "15,10,5"],
                        help="fan-outs from the output layer to the input layer, as in the job document")
    parser.add_argument("--share", type=float, default=0.1, help="memory of the cache as a fraction of the bytes of all rows")
    parser.add_argument("--steps", type=int, default=32, help="number of steps that are sampled ahead for the cache")
    parser.add_argument("--hidden", type=int, default=16)
    parser.add_argument("--dropout", type=float, default=0.5)
    parser.add_argument("--learning-rate", type=float, default=0.003)
    parser.add_argument("--batch-size", type=int, default=512, help="batch size of each trainer")
    parser.add_argument("--dgl", type=pathlib.Path, metavar="PYTHON", help="a Python with DGL; also measures DGL")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--folder", type=pathlib.Path, help="folder that keeps the graph and its partitions")
    options = parser.parse_args()
    if options.epochs < 3:
        parser.error("--epochs: at least 3 (the first and the last are not counted)")
    options.nodes = round(PRODUCTS_NODES * options.scale)
    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.folder or pathlib.Path(temporary)).resolve()  # absolute: a link points to its partitions
        folder.mkdir(parents=True, exist_ok=True)
        graph = generate(options.bin, folder / "graph", options.nodes, round(PRODUCTS_EDGES * options.scale),
                         "--features", FEATURES, "--classes", 16, "--train", options.train, "--validation", 0.001, "--test",
                         0.001)
        with tempfile.TemporaryDirectory(dir=folder) as runs:
            for kept in ("partitions", "dgl-partitions"):
                (folder / kept).mkdir(exist_ok=True)
                (pathlib.Path(runs) / kept).symlink_to(folder / kept)
            print("| rate | fan-outs | bytes an epoch | with the cache | fewer bytes | fewer rows | an epoch | "
                  "with the cache | faster |" +
                  (" DGL | DGL's time relative to the shorter of the two |" if options.dgl else "") +
                  "\n" + "|---" * (11 if options.dgl else 9) + "|", flush=True)
            for rate in options.rates:
                for fanouts in options.fanouts:
                    compare(options, pathlib.Path(runs), graph, rate, parse_fanouts(fanouts))


if __name__ == "__main__":
    main()
