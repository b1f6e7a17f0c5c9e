#!/usr/bin/env python3
"""Compares Espalier with DGL and GraphBolt on one machine, with one graph and one set of batches, and prints ratios.

    python3 -m venv peers && peers/bin/pip install torch==2.2.1 torchdata==0.7.1 dgl==2.1.0 \\
        'numpy<2' 'pandas<2.3' pydantic pyyaml
    services/benchmarks/compare_peers.py --peer-python peers/bin/python
    services/benchmarks/compare_peers.py --peer-python peers/bin/python --scale 0.02 --batches 10

Every figure is printed with its unit; a ratio above 1 means that Espalier is faster.
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PRODUCTS_NODES, PRODUCTS_EDGES, COMMUNITY = 2_449_029, 123_457_082, 8192
MODEL = dict(fanouts=[15, 10, 5], hidden=256, batch=1000, dropout=0.5, learning_rate=0.003)


def run(command, threads=1, parse=None):
    environment = dict(os.environ, OMP_NUM_THREADS=str(threads), MKL_NUM_THREADS=str(threads))
    environment.setdefault("DGLBACKEND", "pytorch")
    done = subprocess.run([str(word) for word in command], env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return parse(done.stdout) if parse else done.stdout


def last_json(text):
    return json.loads(text.strip().splitlines()[-1])


def generate(binaries, folder, nodes, edges, *more):
    if not folder.exists():
        run([binaries / "espalier", "generate", "--shape", "products", "--nodes", nodes, "--edges", edges,
             "--communities", max(4, nodes // COMMUNITY), "--seed", 1, "--quiet", "--output", folder, *more])
    return folder


def espalier_sampling(text):
    """Returns the figures of sampling_bench by number of threads. It parses lines such as
    "uniform, 1 thread  41.0 M edges/s ... [978k edges, 626k nodes a batch"."""
    pattern = r"uniform, (\d) threads?\s+([\d.]+) M edges/s.*\[(\d+)k edges, (\d+)k nodes"
    return {int(threads): dict(edges_per_second=float(rate) * 1e6, edges_per_batch=float(edges) * 1e3,
                               nodes_per_batch=float(nodes) * 1e3)
            for threads, rate, edges, nodes in re.findall(pattern, text)}


def espalier_gather(text):
    """Returns gather_bench's bytes per second by number of threads. It parses lines such as
    "1 thread:   96.0 % of a prefetching copy (4.6 of 4.8 GB/s)"."""
    return {int(threads): float(rate) * 1e9
            for threads, rate in re.findall(r"(\d) threads?\s*:.*\(([\d.]+) of", text)}


def check_same_work(row):
    """Ends the program if the sizes of batches differ by more than 5 %: the ratios of rates would then mean nothing."""
    for name, figures in row.items():
        for what in ("edges_per_batch", "nodes_per_batch"):
            if abs(figures[what] - row["espalier"][what]) > 0.05 * row["espalier"][what]:
                sys.exit(f"{name} and Espalier differ in {what}: {figures[what]:.0f}, {row['espalier'][what]:.0f}")


def compare_sampling(options, folder, report):
    nodes, edges = round(PRODUCTS_NODES * options.scale), round(PRODUCTS_EDGES * options.scale)
    rows = min(800_000, nodes)
    ours = run([options.bin / "sampling_bench", "--scale", options.scale, "--batches", options.batches],
               parse=espalier_sampling)
    our_gather = run([options.bin / "gather_bench", "--scale", options.scale, "--rows", rows], parse=espalier_gather)
    graph = generate(options.bin, folder / "products", nodes, edges, "--features", 0)
    for threads in (1, 2):
        peers = run([options.peer_python, HERE / "peers/sample_and_gather.py", graph, "--nodes", nodes, "--batches",
                     options.batches, "--rows", rows], threads, last_json)
        report["versions"] = peers["versions"]
        row = {"espalier": ours[threads], "dgl": peers["dgl"], "graphbolt": peers["graphbolt"]}
        report["sampling"][threads] = row
        check_same_work(row)
        rates = {name: figures["edges_per_second"] / 1e6 for name, figures in row.items()}
        print(f"sampling, {threads} thread(s): Espalier {rates['espalier']:.1f}, DGL {rates['dgl']:.1f}, GraphBolt "
              f"{rates['graphbolt']:.1f} M edges/s: {rates['espalier'] / rates['dgl']:.2f} x DGL, "
              f"{rates['espalier'] / rates['graphbolt']:.2f} x GraphBolt")
        print("  edges, nodes a batch: " + "; ".join(
            f"{name} {figures['edges_per_batch'] / 1e3:.0f}k, {figures['nodes_per_batch'] / 1e3:.0f}k"
            for name, figures in row.items()))
        gather = {"espalier": our_gather[threads], **peers["gather"]}
        report["gather"][threads] = gather
        print(f"gather, {threads} thread(s): " + ", ".join(f"{name} {rate / 1e9:.1f} GB/s"
                                                           for name, rate in gather.items())
              + f": {gather['espalier'] / gather['torch']:.2f} x torch.index_select, "
                f"{gather['espalier'] / gather['graphbolt']:.2f} x GraphBolt", flush=True)


def job(graph, epochs):
    return {
        "apiVersion": "espalier.io/v1alpha1", "kind": "DistTraining", "metadata": {"name": "compare"},
        "spec": {
            "graph": {"source": {"uri": str(graph), "format": "NPY"}, "partitions": {"count": 1}},
            "training": {
                "task": {"type": "NodeClassification", "label": "node-label", "split": "random"},
                "inputs": [{"features": ["node-feat"]}],
                "model": {"type": "GraphSAGE", "aggregator": "Mean", "hiddenSize": MODEL["hidden"],
                          "dropout": MODEL["dropout"]},
                "sampling": {"layers": [{"fanout": fanout} for fanout in MODEL["fanouts"]]},
                "batchSize": MODEL["batch"], "epochs": epochs, "seed": 1,
                "optimizer": {"type": "Adam", "learningRate": MODEL["learning_rate"]},
                "evaluation": {"everyEpochs": epochs, "metric": "Accuracy", "neighborhood": "Full"}},
            "output": {"save": []}}}


def seconds_of(result):
    return statistics.median(result["secondsPerEpoch"][1:-1])


def compare_python(options, folder, ours, dgl_seconds):
    """Returns the seconds per epoch of espalier.nn on the trainer's partitions, with and without
    espalier.nn.keep_memory(). Prints the ratios to the trainer and to DGL."""
    partitions, = (folder / "run/partitions").iterdir()
    report = {}
    for flags in (["--keep-memory"], []):
        result = run([options.python, HERE / "peers/train_sage_espalier.py", partitions, "--fanouts", *MODEL["fanouts"],
                      "--hidden", MODEL["hidden"], "--batch-size", MODEL["batch"], "--epochs", options.epochs, "--dropout",
                      MODEL["dropout"], "--learning-rate", MODEL["learning_rate"], *flags], parse=last_json)
        name = "with keep_memory()" if flags else "without keep_memory()"
        seconds = seconds_of(result)
        wait = statistics.median(result["waitSecondsPerEpoch"][1:-1])
        report[name] = {"seconds_per_epoch": seconds, "wait_seconds_per_epoch": wait,
                        "test_accuracy": result["testAccuracy"]}
        print(f"training in Python {name}, 1 thread: {seconds:.2f} s an epoch, {seconds / seconds_of(ours):.2f} of the "
              f"trainer's, {dgl_seconds / seconds:.2f} x DGL; {100 * wait / seconds:.1f} % of it waiting for the loader; "
              f"test accuracy {100 * result['testAccuracy']:.1f} %", flush=True)
    return report


def compare_training(options, folder, report):
    graph = generate(options.bin, folder / "training", options.train_nodes, 50 * options.train_nodes, "--features", 100,
                     "--classes", 16, "--train", 0.1, "--validation", 0.05, "--test", 0.1)
    document = folder / "compare.json"
    document.write_text(json.dumps(job(graph, options.epochs)))
    run([options.bin / "espalier", "run", "-f", document, "--output", folder / "run", "--quiet"])
    ours = json.loads((folder / "run/result.json").read_text())
    theirs = run([options.peer_python, HERE / "peers/train_sage.py", graph, "--fanouts", *MODEL["fanouts"], "--hidden",
                  MODEL["hidden"], "--batch-size", MODEL["batch"], "--epochs", options.epochs, "--dropout",
                  MODEL["dropout"], "--learning-rate", MODEL["learning_rate"]], parse=last_json)
    if options.python:
        report["python"] = compare_python(options, folder, ours, seconds_of(theirs))
    # The first epoch warms up. Of the later epochs, only Espalier's last one contains an evaluation.
    seconds = {"espalier": seconds_of(ours), "dgl": seconds_of(theirs)}
    report["training"] = {name: {"seconds_per_epoch": seconds[name], "test_accuracy": result["testAccuracy"]}
                          for name, result in (("espalier", ours), ("dgl", theirs))}
    print(f"training, 1 trainer of 1 thread: Espalier {seconds['espalier']:.2f}, DGL {seconds['dgl']:.2f} s an epoch: "
          f"{seconds['dgl'] / seconds['espalier']:.2f} x DGL; test accuracy {100 * ours['testAccuracy']:.1f} and "
          f"{100 * theirs['testAccuracy']:.1f} %", flush=True)


def print_markdown(report):
    print("\n| | Espalier | DGL | GraphBolt | ratio to the faster |\n|---|---|---|---|---|")

    def row(name, unit, ours, *peers):
        cells = " | ".join(f"{value:.1f} {unit}" if value else "" for value in (ours, *peers))
        print(f"| {name} | {cells} | {ours / max(filter(None, peers)):.2f} x |")

    for threads, figures in report["sampling"].items():
        row(f"sampling, {threads} thread(s)", "M edges/s",
            *(figures[name]["edges_per_second"] / 1e6 for name in ("espalier", "dgl", "graphbolt")))
    for threads, figures in report["gather"].items():
        row(f"gather, {threads} thread(s)", "GB/s",
            *(figures[name] / 1e9 for name in ("espalier", "torch", "graphbolt")))
    ours, theirs = report["training"]["espalier"], report["training"]["dgl"]
    rows = {"epoch of training, 1 thread": ours}
    rows.update({f"... in Python, {name}": one for name, one in report.get("python", {}).items()})
    for name, one in rows.items():
        print(f"| {name} | {one['seconds_per_epoch']:.2f} s ({100 * one['test_accuracy']:.1f} %) | "
              f"{theirs['seconds_per_epoch']:.2f} s ({100 * theirs['test_accuracy']:.1f} %) | | "
              f"{theirs['seconds_per_epoch'] / one['seconds_per_epoch']:.2f} x |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer-python", type=pathlib.Path, required=True, help="Python with DGL 2.1")
    parser.add_argument("--bin", type=pathlib.Path, default=HERE.parents[1] / "build/release/bin")
    parser.add_argument("--scale", type=float, default=1.0, help="size of the graph as a fraction of 2.4 M nodes and 123 M edges")
    parser.add_argument("--batches", type=int, default=60)
    parser.add_argument("--python", help="a Python with torch and the package espalier; also times espalier.nn")
    parser.add_argument("--train-nodes", type=int, default=500_000, help="nodes of the training graph, with 50 edges each")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--only-training", action="store_true", help="skip sampling and gather")
    parser.add_argument("--folder", type=pathlib.Path, help="keep the graphs here (default: a temporary folder)")
    parser.add_argument("--markdown", action="store_true", help="print a table for README.md as well")
    parser.add_argument("--json", type=pathlib.Path, help="write the figures here as well")
    options = parser.parse_args()
    if options.epochs < 3:
        parser.error("--epochs: at least 3 (the first and the last are not counted)")
    report = {"scale": options.scale, "sampling": {}, "gather": {}}
    with tempfile.TemporaryDirectory(prefix="espalier-peers-") as temporary:
        folder = options.folder or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        if not options.only_training:
            compare_sampling(options, folder, report)
        compare_training(options, folder, report)
    if options.markdown:
        print_markdown(report)
    if options.json:
        options.json.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
