#!/usr/bin/env python3
"""Measures how much a checkpoint slows an epoch down, apart from its snapshot.

The script generates a graph and runs a job with one server, one trainer and a checkpoint after every second epoch. Epochs
that begin with a snapshot, which is uploaded during the epoch, alternate with epochs without one. Each epoch is compared
with the mean of the epochs before and after it, because the speed of the machine changes between runs. An epoch lasts
from the log line of the previous epoch to its own, so the time between two epochs counts. Training stops while the
parameters are copied (the snapshot, which grows with the model). The cost is (epoch - snapshot - alone) / alone. The
script prints its median over all checkpoints with a 95 % confidence interval (order statistics). Exit code 1 if the
median is above --goal.

Checkpoints go to a folder, or with --versitygw to a bucket of a local S3 service.

Example: checkpoint_cost.py --bin build/release/bin --versitygw ~/go/bin/versitygw --checkpoints 40
"""

import argparse
import contextlib
import datetime
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from download_bench import ACCESS_KEY, BUCKET, SECRET_KEY, s3_service


def epochs_of(arguments):
    """Returns the number of epochs. The first two warm up and the last one evaluates, so they are not compared."""
    return 2 * arguments.checkpoints + 4


def job(arguments, graph, output_uri):
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
                "batchSize": 1000, "epochs": epochs_of(arguments), "seed": 1,
                "optimizer": {"type": "Adam", "learningRate": 0.003},
                "evaluation": {"everyEpochs": epochs_of(arguments), "metric": "Accuracy", "neighborhood": "Sampled"}},
            "checkpoint": {"every": {"steps": 0, "epochs": 2, "seconds": 0}, "keep": 2},
            "output": output}}


def lines_of(log, message):
    for text in log.read_text().splitlines():
        line = json.loads(text)
        if line["message"] == message:
            yield line


def time_of(line):
    return datetime.datetime.fromisoformat(line["time"].replace("Z", "+00:00"))


def run(arguments, folder, environment):
    """Generates the graph and runs the job; returns the path of the trainer's log."""
    graph, document, output = folder / "graph", folder / "job.json", folder / "run"
    subprocess.run([arguments.bin / "espalier", "generate", "--nodes", str(arguments.nodes), "--edges",
                    str(20 * arguments.nodes), "--features", "100", "--classes", "16", "--train", "0.5", "--quiet",
                    "--output", graph], check=True)
    document.write_text(json.dumps(job(arguments, graph, f"s3://{BUCKET}/run" if environment else "")))
    process = subprocess.run([arguments.bin / "espalier", "run", "-f", document, "--output", output, "--quiet"],
                             env={**os.environ, **environment}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                             text=True, timeout=arguments.deadline)
    if process.returncode != 0:
        sys.exit(process.stderr)
    return output / "logs/trainer-0.log"


def compared(log):
    """Yields (checkpoint, seconds of the epoch in which it was taken and uploaded, mean seconds of the epochs before
    and after)."""
    ends = [time_of(line) for line in lines_of(log, "epoch")]
    seconds = {epoch: (ends[epoch] - ends[epoch - 1]).total_seconds() for epoch in range(1, len(ends) - 1)}
    for checkpoint in lines_of(log, "checkpoint"):
        epoch = checkpoint["epoch"]  # the epoch that begins with the checkpoint
        if epoch - 1 in seconds and epoch + 1 in seconds:
            if checkpoint["upload_seconds"] > seconds[epoch]:
                sys.exit(f"the upload of {checkpoint['checkpoint']} took longer than the epoch beside it; {log}")
            yield checkpoint, seconds[epoch], (seconds[epoch - 1] + seconds[epoch + 1]) / 2


def interval_of_median(values):
    """Returns the narrowest pair of order statistics that enclose the median with a probability of at least 95 %."""
    n = len(values)
    below, rank = 0.0, 0
    while rank < n // 2 and below + math.comb(n, rank) / 2**n <= 0.025:
        below += math.comb(n, rank) / 2**n
        rank += 1
    ordered = sorted(values)
    return ordered[max(rank - 1, 0)], ordered[n - max(rank, 1)]


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--bin", type=pathlib.Path, required=True, help="folder of the binaries")
    flags.add_argument("--versitygw", help="path of the S3 service; default: checkpoints go to a folder")
    flags.add_argument("--checkpoints", type=int, default=40, help="number of timed checkpoints")
    flags.add_argument("--nodes", type=int, default=200_000, help="nodes of the graph; half of them are training nodes")
    flags.add_argument("--hidden", type=int, default=256)
    flags.add_argument("--goal", type=float, default=0.03, help="largest allowed cost as a fraction of an epoch")
    flags.add_argument("--deadline", type=float, default=3600, help="time limit of the run in seconds")
    arguments = flags.parse_args()
    if arguments.checkpoints < 6:
        flags.error(f"--checkpoints is {arguments.checkpoints}: expected at least 6")
    arguments.bin = arguments.bin.resolve()
    with tempfile.TemporaryDirectory(prefix="espalier-checkpoint-cost-") as name, contextlib.ExitStack() as ending:
        folder = pathlib.Path(name)
        environment = {}
        if arguments.versitygw:
            endpoint = ending.enter_context(s3_service(arguments.versitygw, folder))
            environment = {"AWS_ENDPOINT_URL": endpoint, "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": ACCESS_KEY,
                           "AWS_SECRET_ACCESS_KEY": SECRET_KEY, "ESPALIER_DATA_DIR": str(folder / "copies")}
        pairs = list(compared(run(arguments, folder, environment)))
    costs = [(epoch - checkpoint["snapshot_seconds"] - alone) / alone for checkpoint, epoch, alone in pairs]
    snapshot, upload = (statistics.median(checkpoint[f"{name}_seconds"] for checkpoint, _, _ in pairs)
                        for name in ("snapshot", "upload"))
    print(f"{statistics.median(alone for _, _, alone in pairs):.3f} s an epoch; checkpoints of "
          f"{pairs[-1][0]['bytes'] / 1e6:.1f} MB: snapshot {1e3 * snapshot:.1f} ms, upload {1e3 * upload:.0f} ms")
    cost, (low, high) = statistics.median(costs), interval_of_median(costs)
    print(f"a checkpoint costs {100 * cost:+.1f} % of an epoch beyond the snapshot (median of {len(costs)}; between "
          f"{100 * low:+.1f} and {100 * high:+.1f} % at 95 %); the goal is {100 * arguments.goal:.0f} %")
    return 0 if cost <= arguments.goal else 1


if __name__ == "__main__":
    sys.exit(main())
