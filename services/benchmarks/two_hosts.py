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
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests/scenarios")]

from compare_peers import PRODUCTS_EDGES, PRODUCTS_NODES, generate  # noqa: E402
from ssh_hosts import SshHosts, sh  # noqa: E402

FEATURES = 100
LEARNING_RATE = 0.003
GOAL = 2.5


@contextlib.contextmanager
def connected_hosts(folder, rate):
    """Two hosts whose network devices send at most `rate`."""
    # Processes detect by a file in TMPDIR that they are on one machine, so the second host has its own folder there.
    apart = folder.with_suffix(".tmp")
    apart.mkdir()
    hosts = SshHosts(folder, count=2, hidden={1: apart})
    try:
        hosts.start()
        for host in range(2):
            sh(*hosts.inside(host, "tc", "qdisc", "add", "dev", "eth0", "root", "tbf", "rate", rate, "burst", "2mb",
                             "latency", "50ms"))
        yield hosts, apart
    finally:
        hosts.stop()


def sent_bytes(hosts):
    """Returns the bytes that both hosts have sent since they were created, headers included."""
    counted = 0
    for host in range(2):
        device, = json.loads(sh(*hosts.inside(host, "ip", "-json", "-statistics", "link", "show", "eth0")).stdout)
        counted += device["stats64"]["tx"]["bytes"]
    return counted


def ended_epochs(log):
    """Returns the number of epochs that trainer 0 has reported."""
    try:
        return log.read_text().count('"message":"epoch"')
    except FileNotFoundError:
        return 0


def count_epochs(hosts, log, ended, counts):
    """Appends sent_bytes to `counts` whenever an epoch has ended, until `ended` is set."""
    while not ended.wait(0.02):
        if ended_epochs(log) > len(counts):
            counts.append(sent_bytes(hosts))


def job(graph, partitions, options, fanouts, memory):
    trainers = {"replicas": 2, "threads": 1}
    if memory:
        trainers["featureCache"] = {"memory": str(memory), "steps": options.steps}
    return {
        "apiVersion": "espalier.io/v1alpha1", "kind": "DistTraining", "metadata": {"name": "two-hosts"},
        "spec": {
            "graph": {"source": {"uri": str(graph), "format": "NPY"},
                      "partitions": {"count": 2, "algorithm": options.algorithm, "uri": str(partitions)}},
            "training": {
                "task": {"type": "NodeClassification", "label": "node-label", "split": "random"},
                "inputs": [{"features": ["node-feat"]}],
                "model": {"type": "GraphSAGE", "hiddenSize": options.hidden, "dropout": options.dropout},
                "sampling": {"layers": [{"fanout": fanout} for fanout in fanouts]},
                "batchSize": 2 * options.batch_size, "epochs": options.epochs, "seed": 1,
                "optimizer": {"type": "Adam", "learningRate": LEARNING_RATE},
                "evaluation": {"everyEpochs": options.epochs, "metric": "Accuracy", "neighborhood": "Sampled"}},
            "trainers": trainers, "output": {"save": []}}}


def train(options, folder, graph, rate, fanouts, memory):
    """Trains on two hosts. Returns the bytes and the seconds of an epoch, which are medians without the first and the
    last epoch, and the run's result."""
    output = folder / f"run-{rate}-{'-'.join(map(str, fanouts))}-{memory}"
    document = folder / "two_hosts.json"
    document.write_text(json.dumps(job(graph, folder / "partitions", options, fanouts, memory)))
    with connected_hosts(folder / f"hosts-{output.name}", rate) as (hosts, apart):
        command = hosts.inside("l", options.bin / "espalier", "launch", "--hosts", hosts.write_hosts(), *hosts.flags(),
                               "--plaintext", "--env", f"TMPDIR={apart}", "-f", document, "--output", output,
                               "--quiet")
        counts, ended = [], threading.Event()
        watch = threading.Thread(target=count_epochs, args=(hosts, output / "logs/trainer-0.log", ended, counts))
        watch.start()
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=3600, check=False)
        finally:
            ended.set()
            watch.join()
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    result = json.loads((output / "result.json").read_text())
    if len(counts) < options.epochs - 1:
        sys.exit(f"{output}: the end of {len(counts)} of {options.epochs} epochs was logged: choose a larger --scale")
    # The last epoch contains an evaluation, which does not use the cache.
    of_epochs = [after - before for before, after in zip(counts, counts[1:options.epochs - 1])]
    return statistics.median(of_epochs), statistics.median(result["secondsPerEpoch"][1:-1]), result


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
    with connected_hosts(folder / f"dgl-hosts-{rate}-{'-'.join(map(str, fanouts))}", rate) as (hosts, _):
        config = folder / "ip_config.txt"
        config.write_text("".join(f"{address} 30050\n" for address in hosts.addresses))
        of_all = {"DGL_IP_CONFIG": config, "DGL_CONF_PATH": described, "DGL_NUM_SERVER": 1, "DGL_NUM_CLIENT": 2,
                  "DGL_NUM_SAMPLER": 0, "DGL_GRAPH_FORMAT": "csc", "DGL_KEEP_ALIVE": 0, "DGL_DIST_MODE": "distributed",
                  "OMP_NUM_THREADS": 1, "GLOO_SOCKET_IFNAME": "eth0", "MASTER_ADDR": hosts.addresses[0],
                  "MASTER_PORT": 30060, "WORLD_SIZE": 2, "LOCAL_RANK": 0}
        training = ["client", "--fanouts", *reversed(fanouts), "--hidden", options.hidden, "--batch-size", options.batch_size,
                    "--epochs", options.epochs, "--dropout", options.dropout, "--learning-rate", LEARNING_RATE]
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
    sent, seconds, without = train(options, folder, graph, rate, fanouts, 0)
    cached_sent, cached_seconds, with_cache = train(options, folder, graph, rate, fanouts, memory)
    if with_cache["parametersDigest"] != without["parametersDigest"]:
        sys.exit("the parameters with a cache differ from those without one")
    cache = with_cache["featureCache"]
    rows = (cache["hitRows"] + cache["fetchedRows"]) / cache["fetchedRows"]
    goal = "" if sent / cached_sent >= GOAL else f", whose goal of {GOAL} x is missed"
    print(f"| {rate} | {', '.join(map(str, fanouts))} | {sent / 1e6:.0f} MB | {cached_sent / 1e6:.0f} MB | "
          f"{sent / cached_sent:.2f} x{goal} | {rows:.2f} x | {seconds:.1f} s | {cached_seconds:.1f} s | "
          f"{seconds / cached_seconds:.2f} x |", end="", flush=True)
    if options.dgl is None:
        print(flush=True)
        return
    by_dgl = train_by_dgl(options, folder, cut_by_dgl(options, folder, graph), rate, fanouts)
    print(f" {by_dgl:.1f} s | {by_dgl / min(seconds, cached_seconds):.2f} x |", flush=True)


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
    parser.add_argument("--steps", type=int, default=32, help="number of known steps of the cache")
    parser.add_argument("--hidden", type=int, default=16)
    parser.add_argument("--dropout", type=float, default=0.5)
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
                  "with the cache | faster |" + (" DGL | the faster of the two, relative to DGL |" if options.dgl else "") +
                  "\n" + "|---" * (11 if options.dgl else 9) + "|", flush=True)
            for rate in options.rates:
                for fanouts in options.fanouts:
                    compare(options, pathlib.Path(runs), graph, rate, [int(word) for word in fanouts.split(",")])


if __name__ == "__main__":
    main()
