#!/usr/bin/env python3
"""Times epochs with a checkpoint after each beside epochs without any.

A graph is generated; then, in pairs, whole jobs of one server and one trainer run with `checkpoint.every: {epochs: 1}`
and with none, in turns of who is first. An epoch lasts from its last log line to the next one's, so that whatever lies
between two epochs counts. Training stands still for the copy in memory (the snapshot, which grows with the model); the
copy's upload goes on beside the next epoch. Prints both, and what the upload costs: the median over the pairs of
(epoch with - snapshot - epoch without) / epoch without. Exit code 1 where that is above --goal.

Checkpoints go to a folder, or with --versitygw to a bucket of a local S3 service.

Example: checkpoint_cost.py --bin build/release/bin --versitygw ~/go/bin/versitygw --pairs 5
"""

import argparse
import contextlib
import datetime
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from download_bench import ACCESS_KEY, BUCKET, SECRET_KEY, s3_service


def job(arguments, graph, every_epochs, output_uri):
    output = {"save": []}
    if output_uri:
        output["uri"] = output_uri
    return {
        "apiVersion": "espalier.io/v1alpha1", "kind": "DistTraining", "metadata": {"name": "checkpoint-cost"},
        "spec": {
            "graph": {"source": {"uri": str(graph), "format": "NPY"}, "partitions": {"count": 1}},
            "training": {
                "task": {"type": "NodeClassification", "label": "node-label", "split": "random"},
                "inputs": [{"features": ["node-feat"]}],
                "model": {"type": "GraphSAGE", "aggregator": "Mean", "hiddenSize": arguments.hidden, "dropout": 0.5},
                "sampling": {"layers": [{"fanout": 10}, {"fanout": 5}]},
                "batchSize": 1000, "epochs": arguments.epochs, "seed": 1,
                "optimizer": {"type": "Adam", "learningRate": 0.003},
                "evaluation": {"everyEpochs": arguments.epochs, "metric": "Accuracy", "neighborhood": "Sampled"}},
            "checkpoint": {"every": {"steps": 0, "epochs": every_epochs, "seconds": 0}, "keep": 2},
            "output": output}}


def lines_of(log, message):
    for text in log.read_text().splitlines():
        line = json.loads(text)
        if line["message"] == message:
            yield line


def time_of(line):
    return datetime.datetime.fromisoformat(line["time"].replace("Z", "+00:00"))


def run(arguments, folder, name, graph, every_epochs, environment):
    """{epoch, snapshot, upload: seconds, bytes} of one run: medians over its epochs but the first and the last."""
    document = folder / f"{name}.json"
    output_uri = f"s3://{BUCKET}/{name}" if environment else ""
    document.write_text(json.dumps(job(arguments, graph, every_epochs, output_uri)))
    process = subprocess.run([arguments.bin / "espalier", "run", "-f", document, "--output", folder / name, "--quiet"],
                             env={**os.environ, **environment}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                             text=True, timeout=arguments.deadline)
    if process.returncode != 0:
        sys.exit(process.stderr)
    log = folder / name / "logs/trainer-0.log"
    ends = [time_of(line) for line in lines_of(log, "epoch")]
    checkpoints = list(lines_of(log, "checkpoint"))
    if every_epochs and len(checkpoints) < arguments.epochs:
        sys.exit(f"{len(checkpoints)} checkpoints of {arguments.epochs} epochs: uploads take longer than epochs; {log}")
    if not every_epochs and checkpoints:
        sys.exit(f"{len(checkpoints)} checkpoints in a run that was to have none; {log}")

    def median(field):
        return statistics.median(line[field] for line in checkpoints) if checkpoints else 0.0

    # The last interval has the evaluation in it.
    seconds = [(end - start).total_seconds() for start, end in zip(ends[:-2], ends[1:-1])]
    return {"epoch": statistics.median(seconds), "snapshot": median("snapshot_seconds"),
            "upload": median("upload_seconds"), "bytes": median("bytes")}


def compare(arguments, folder, environment):
    graph = folder / "graph"
    subprocess.run([arguments.bin / "espalier", "generate", "--nodes", str(arguments.nodes), "--edges",
                    str(20 * arguments.nodes), "--features", "100", "--classes", "16", "--train", "0.5", "--quiet",
                    "--output", graph], check=True)
    costs = []
    for pair in range(arguments.pairs):
        both = {}
        for every in ((1, 0) if pair % 2 == 0 else (0, 1)):
            both[every] = run(arguments, folder, f"pair-{pair}-{'with' if every else 'without'}", graph, every, environment)
        saved, plain = both[1], both[0]
        costs.append((saved["epoch"] - saved["snapshot"] - plain["epoch"]) / plain["epoch"])
        print(f"pair {pair}: {plain['epoch']:.3f} s an epoch without, {saved['epoch']:.3f} s with a checkpoint of "
              f"{saved['bytes'] / 1e6:.1f} MB (snapshot {1e3 * saved['snapshot']:.1f} ms, upload "
              f"{1e3 * saved['upload']:.0f} ms): {100 * costs[-1]:+.1f} % beyond the snapshot", flush=True)
    return costs


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--bin", type=pathlib.Path, required=True, help="folder of the binaries")
    flags.add_argument("--versitygw", help="the S3 service; default: checkpoints go to a folder")
    flags.add_argument("--pairs", type=int, default=5)
    flags.add_argument("--epochs", type=int, default=12, help="of each run; at least 4")
    flags.add_argument("--nodes", type=int, default=200_000, help="of the graph; half of them train")
    flags.add_argument("--hidden", type=int, default=256)
    flags.add_argument("--goal", type=float, default=0.03, help="share of an epoch")
    flags.add_argument("--deadline", type=float, default=1800, help="seconds a run may take")
    arguments = flags.parse_args()
    if arguments.epochs < 4:
        flags.error("--epochs: the first and the last are left out, so at least 4")
    arguments.bin = arguments.bin.resolve()
    with tempfile.TemporaryDirectory(prefix="espalier-checkpoint-cost-") as name, contextlib.ExitStack() as ending:
        folder = pathlib.Path(name)
        environment = {}
        if arguments.versitygw:
            endpoint = ending.enter_context(s3_service(arguments.versitygw, folder))
            environment = {"AWS_ENDPOINT_URL": endpoint, "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": ACCESS_KEY,
                           "AWS_SECRET_ACCESS_KEY": SECRET_KEY, "ESPALIER_DATA_DIR": str(folder / "copies")}
        costs = compare(arguments, folder, environment)
    cost = statistics.median(costs)
    print(f"checkpoints cost {100 * cost:+.1f} % of an epoch beyond the snapshot, median of {len(costs)} pairs "
          f"({100 * min(costs):+.1f} to {100 * max(costs):+.1f} %); the goal is {100 * arguments.goal:.0f} %")
    return 0 if cost <= arguments.goal else 1


if __name__ == "__main__":
    sys.exit(main())
