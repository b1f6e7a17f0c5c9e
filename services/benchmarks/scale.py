#!/usr/bin/env python3
"""Measures time, memory and disk space of partitioning and training for graphs of several sizes on one machine.

For each of --edges, the script generates a graph with 20 edges and a feature of 16 F16 values per node (not counted), partitions it
with Streaming within --memory, and trains on it with `espalier run`: one epoch over the training nodes, a test evaluation,
and the embeddings of chosen nodes. The memory of a process excludes pages that the kernel can drop, such as those of
mapped files. The largest default graph takes 21 GB of disk space in --folder.

    services/benchmarks/scale.py --bin build/release/bin --folder /scratch
    services/benchmarks/scale.py --bin build/release/bin --folder /scratch --edges 1e6
"""

import argparse
import array
import calendar
import json
import pathlib
import resource
import signal
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE)]

from memory_peaks import watched  # noqa: E402

EDGES_PER_NODE = 20
TRAINING_NODES, CHOSEN_NODES = 500_000, 1_000_000
GB = 1e9


def timed(arguments, command):
    """Runs a command to its end. Returns (seconds, processor seconds, {program: bytes of its largest process})."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    peaks = watched(arguments, command)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    memory = {}
    for (name, _), peak in peaks.items():
        memory[name] = max(memory.get(name, 0), peak.unreclaimable)
    return time.monotonic() - start, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, memory


def size_of(folder):
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def write_chosen(folder, nodes):
    """Writes at most CHOSEN_NODES of the ids below `nodes`, evenly spread, to node.npy in the folder, which
    spec.output.nodesUri names. Returns their number."""
    folder.mkdir()
    count = min(CHOSEN_NODES, nodes)
    ids = array.array("q", (place * nodes // count for place in range(count)))
    header = f"{{'descr': '<i8', 'fortran_order': False, 'shape': ({count},), }}".encode()
    header += b" " * (63 - (len(header) + 10) % 64) + b"\n"
    (folder / "node.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + ids.tobytes())
    return count


def job(arguments, folder):
    return {
        "apiVersion": "espalier.io/v1alpha1", "kind": "DistTraining", "metadata": {"name": "scale"},
        "spec": {
            "graph": {"source": {"uri": str(folder / "graph"), "format": "NPY"},
                      "partitions": {"count": arguments.partitions, "algorithm": "Streaming", "balance": ["Edges"],
                                     "uri": str(folder / "partitions")}},
            "training": {
                "task": {"type": "NodeClassification", "label": "node-label", "split": "random"},
                "inputs": [{"features": ["node-feat"]}],
                "model": {"type": "GraphSAGE", "aggregator": "Mean", "hiddenSize": arguments.hidden},
                "sampling": {"layers": [{"fanout": fanout} for fanout in (15, 10, 5)]},
                "batchSize": 1000, "epochs": 1, "seed": 0,
                "optimizer": {"type": "Adam", "learningRate": 0.003},
                "evaluation": {"everyEpochs": 1, "metric": "Accuracy", "neighborhood": "Sampled"}},
            "trainers": {"replicas": arguments.trainers},
            "output": {"save": ["Embeddings"], "nodesUri": str(folder / "chosen")}}}


def seconds_until(log, message):
    """Returns when trainer 0 logged `message`, in seconds since 1970. Log lines are JSON, with times in UTC."""
    for line in log.read_text().splitlines():
        if f'"message":"{message}"' in line:
            text = json.loads(line)["time"]
            return calendar.timegm(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S")) + float(text[19:-1])
    sys.exit(f"{log}: no line '{message}'")


def measure(arguments, edges, folder):
    """Prints the rows of one graph."""
    nodes = edges // EDGES_PER_NODE
    espalier, graph = arguments.bin / "espalier", folder / "graph"
    training = min(0.5, TRAINING_NODES / nodes)
    watched(arguments, [espalier, "generate", "--nodes", nodes, "--edges", edges, "--features", 16, "--feature-type", "f16",
                        "--classes", 16, "--train", f"{training:.6f}", "--validation", f"{training / 10:.6f}", "--test",
                        f"{training / 10:.6f}", "--quiet", "--output", graph])
    seconds, processor, memory = timed(arguments, [
        espalier, "partition", graph, "--format", "NPY", "--count", arguments.partitions, "--algorithm", "Streaming", "--balance",
        "Edges", "--memory", arguments.memory, "--data-dir", folder / "data", "--quiet", "--output", folder / "partitions"])
    print(f"{edges:.0e} edges, {size_of(graph) / GB:.1f} GB: cut in {seconds:.1f} s ({processor:.1f} s of processor time), "
          f"{max(memory.values()) / GB:.2f} GB of memory, partitions of {size_of(folder / 'partitions') / GB:.1f} GB", flush=True)
    document, output = folder / "job.json", folder / "run"
    chosen = write_chosen(folder / "chosen", nodes)
    document.write_text(json.dumps(job(arguments, folder)))
    seconds, processor, memory = timed(arguments, [espalier, "run", "-f", document, "--output", output, "--quiet"])
    ended = (output / "result.json").stat().st_mtime
    result = json.loads((output / "result.json").read_text())
    trained = seconds_until(output / "logs/trainer-0.log", "epoch")
    opened = seconds_until(output / "logs/trainer-0.log", "graph opened")
    print(f"    start {seconds - (ended - opened):.0f} s, epoch of {result['stepsPerEpoch']} steps "
          f"{result['secondsPerEpoch'][0]:.0f} s, then test accuracy and embeddings of {chosen} nodes "
          f"{ended - trained:.0f} s; {processor:.0f} s of processor time", flush=True)
    print("    memory: " + ", ".join(f"{name} {size / GB:.2f} GB" for name, size in sorted(memory.items())), flush=True)


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--bin", type=pathlib.Path, required=True, help="folder of the binaries")
    flags.add_argument("--edges", default="1e7,1e8,1e9", help="sizes of graphs, separated by commas")
    flags.add_argument("--partitions", type=int, default=4)
    flags.add_argument("--trainers", type=int, default=2)
    flags.add_argument("--hidden", type=int, default=16, help="hiddenSize; servers store two layers of it for all nodes")
    flags.add_argument("--memory", default="8GiB", help="memory limit of the partitioner")
    flags.add_argument("--deadline", type=float, default=7200, help="time limit of each command in seconds")
    flags.add_argument("--folder", type=pathlib.Path, help="folder of graphs and partitions; default: temporary")
    arguments = flags.parse_args()
    arguments.bin = arguments.bin.resolve()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: ends the job and removes its folder
    for text in arguments.edges.split(","):
        with tempfile.TemporaryDirectory(prefix="espalier-scale-", dir=arguments.folder) as name:
            measure(arguments, int(float(text)), pathlib.Path(name))
    return 0


if __name__ == "__main__":
    sys.exit(main())
