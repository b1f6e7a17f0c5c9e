"""Runs a job with `espalier launch` on hosts that are network namespaces of this machine, and measures its epochs.
Requires root and sshd."""

import contextlib
import dataclasses
import json
import os
import pathlib
import statistics
import subprocess
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/scenarios"))

from ssh_hosts import SshHosts, sh  # noqa: E402

JOB_SECONDS = 3600
BUSY = ("user", "nice", "system", "irq", "softirq")


@contextlib.contextmanager
def connected_hosts(folder, count, rate):
    """`count` hosts whose network devices send at most `rate`, in the notation of tc. Also yields the folder that must be
    TMPDIR of a job's processes."""
    # Processes detect by a file in TMPDIR that they are on one machine, so each further host has its own folder there.
    apart = folder.with_name(f"{folder.name}.tmp")
    apart.mkdir()
    hosts = SshHosts(folder, count=count, hidden={host: apart for host in range(1, count)})
    try:
        hosts.start()
        for host in range(count):
            sh(*hosts.inside(host, "tc", "qdisc", "add", "dev", "eth0", "root", "tbf", "rate", rate, "burst", "2mb",
                             "latency", "50ms"))
        yield hosts, apart
    finally:
        hosts.stop()


@dataclasses.dataclass
class Counts:
    sent_bytes: int  # by all hosts since they were created, headers included
    busy_seconds: float  # of all processors of this machine since it was started


def read_counts(hosts):
    sent = 0
    for host in range(len(hosts.addresses)):
        device, = json.loads(sh(*hosts.inside(host, "ip", "-json", "-statistics", "link", "show", "eth0")).stdout)
        sent += device["stats64"]["tx"]["bytes"]
    # The columns of /proc/stat (man 5 proc), in clock ticks.
    names = ("user", "nice", "system", "idle", "iowait", "irq", "softirq")
    ticks = dict(zip(names, map(int, pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:])))
    return Counts(sent, sum(ticks[name] for name in BUSY) / os.sysconf("SC_CLK_TCK"))


def num_ended_epochs(log):
    """Returns the number of epochs that trainer 0 has reported."""
    try:
        return log.read_text().count('"message":"epoch"')
    except FileNotFoundError:
        return 0


def count_epochs(hosts, log, ended, counts):
    """Appends read_counts to `counts` whenever an epoch has ended, until `ended` is set."""
    while not ended.wait(0.02):
        if num_ended_epochs(log) > len(counts):
            counts.append(read_counts(hosts))


@dataclasses.dataclass
class Epochs:
    """Medians of an epoch, without the first and the last one."""
    sent_bytes: float
    busy_seconds: float
    seconds: float
    result: dict  # of the run


def train(binaries, output, job, num_hosts, rate):
    """Trains `job` on `num_hosts` hosts, one trainer and one graph server on each, and writes its results to `output`.
    Ends the program if the job fails. The last epoch is not counted because it contains the evaluation."""
    document = output.with_name(f"{output.name}.json")
    document.write_text(json.dumps(job))
    with connected_hosts(output.with_name(f"hosts-{output.name}"), num_hosts, rate) as (hosts, apart):
        command = hosts.inside("l", binaries / "espalier", "launch", "--hosts", hosts.write_hosts(), *hosts.flags(),
                               "--plaintext", "--env", f"TMPDIR={apart}", "-f", document, "--output", output,
                               "--quiet")
        counts, ended = [], threading.Event()
        watch = threading.Thread(target=count_epochs, args=(hosts, output / "logs/trainer-0.log", ended, counts))
        watch.start()
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=JOB_SECONDS, check=False)
        finally:
            ended.set()
            watch.join()
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    result = json.loads((output / "result.json").read_text())
    num_epochs = job["spec"]["training"]["epochs"]
    if len(counts) < num_epochs - 1:
        sys.exit(f"{output}: the end of {len(counts)} of {num_epochs} epochs was logged: choose a larger --scale")
    pairs = list(zip(counts, counts[1:num_epochs - 1]))
    return Epochs(statistics.median(after.sent_bytes - before.sent_bytes for before, after in pairs),
                  statistics.median(after.busy_seconds - before.busy_seconds for before, after in pairs),
                  statistics.median(result["secondsPerEpoch"][1:-1]), result)


def sage_job(graph, partitions, num_hosts, options, fanouts):
    """Returns the document of a job that trains GraphSAGE with one trainer of one thread and one partition on each host.
    `options.batch_size` is the batch size of each trainer."""
    return {
        "apiVersion": "espalier.io/v1alpha1", "kind": "DistTraining", "metadata": {"name": "hosts"},
        "spec": {
            "graph": {"source": {"uri": str(graph), "format": "NPY"},
                      "partitions": {"count": num_hosts, "algorithm": options.algorithm, "uri": str(partitions)}},
            "training": {
                "task": {"type": "NodeClassification", "label": "node-label", "split": "random"},
                "inputs": [{"features": ["node-feat"]}],
                "model": {"type": "GraphSAGE", "hiddenSize": options.hidden, "dropout": options.dropout},
                "sampling": {"layers": [{"fanout": fanout} for fanout in fanouts]},
                "batchSize": num_hosts * options.batch_size, "epochs": options.epochs, "seed": 1,
                "optimizer": {"type": "Adam", "learningRate": options.learning_rate},
                "evaluation": {"everyEpochs": options.epochs, "metric": "Accuracy", "neighborhood": "Sampled"}},
            "trainers": {"replicas": num_hosts, "threads": 1}, "output": {"save": []}}}


def parse_fanouts(text):
    return [int(word) for word in text.split(",")]
