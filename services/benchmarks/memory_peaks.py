#!/usr/bin/env python3
"""Measures the peak memory of each process from `espalier generate` to a trained model, relative to the graph on disk.

The script generates a graph shaped like ogbn-products (--scale 1: 25 M edges) and runs a job on it. It reads the kernel's
peak of every process (VmHWM of /proc/PID/status) twenty times per second. This peak never decreases, so only growth in
the last 50 ms of a process is missed. The peak includes pages of mapped files, which the kernel may drop; a second column
has the largest memory that the kernel cannot drop. Of several processes with the same role, the largest is printed. Exit
code 1 if a peak is above --goal times the graph's size on disk. METIS, which needs several times the graph's memory, is
printed but has no limit.

Example: memory_peaks.py --bin build/release/bin --access rpc
"""

import argparse
import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

NODES, EDGES = 495_755, 25_000_000  # as many edges a node as ogbn-products has
SECONDS_BETWEEN_READINGS = 0.05
SECONDS_TO_END = 60
MIB = 1 << 20


@dataclasses.dataclass
class Peak:
    """Memory of a process in bytes: the peak of resident memory (VmHWM), the largest resident memory that was read, and
    the part of the latter that was not pages of mapped files."""
    resident: int = 0
    largest_seen: int = 0
    unreclaimable: int = 0

    def read(self, status):
        """Updates the peaks from the sizes in a /proc/PID/status: {name: bytes}."""
        self.resident = max(self.resident, status["VmHWM"])
        if status["VmRSS"] > self.largest_seen:
            self.largest_seen = status["VmRSS"]
            self.unreclaimable = status["RssAnon"] + status["RssShmem"]


def sizes_in(text):
    """Returns the sizes in a /proc/PID/status as {"VmHWM": bytes, ...}; empty for a process that has ended."""
    fields = (line.split() for line in text.splitlines())
    return {words[0][:-1]: 1024 * int(words[1]) for words in fields if len(words) == 3 and words[2] == "kB"}


def name_of(command):
    """Returns the name of a program, such as "espalier run" or "espalier-trainer", from the words of a command line."""
    program = pathlib.PurePath(command[0]).name
    return f"{program} {command[1]}" if program == "espalier" and len(command) > 1 else program


def parents():
    """Returns {process id: parent's id} of all processes."""
    found = {}
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            found[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue  # the process has ended meanwhile
    return found


def family_of(pid):
    """Returns {process id: parent's id} of the process and all its descendants."""
    parent_of = parents()
    family, newest = {}, {pid}
    while newest:
        family |= {member: parent_of.get(member) for member in newest}
        newest = {child for child, parent in parent_of.items() if parent in newest} - family.keys()
    return family


def program_of(pid):
    return os.readlink(f"/proc/{pid}/exe")


def read_family(pid, peaks):
    for member, parent in family_of(pid).items():
        try:
            if member != pid and program_of(member) == program_of(parent):
                continue  # forked, but has not executed its own program yet
            command = pathlib.Path(f"/proc/{member}/cmdline").read_bytes().decode(errors="replace").split("\0")
            status = sizes_in(pathlib.Path(f"/proc/{member}/status").read_text())
        except OSError:
            continue
        if command[0] and "VmHWM" in status:
            peaks.setdefault((name_of(command), member), Peak()).read(status)


def ensure_ended(process):
    """Ends the process: first by SIGTERM, after which `espalier run` ends the processes that it has started, then by
    SIGKILL, after which the kernel ends them."""
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(SECONDS_TO_END)
    except subprocess.TimeoutExpired:
        pass
    finally:
        process.kill()
        process.wait()


def watched(arguments, command):
    """Runs a command to its end. Returns {(name, process id): Peak} of its process and all descendants."""
    peaks = {}
    end = time.monotonic() + arguments.deadline
    process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        while process.poll() is None:
            read_family(process.pid, peaks)
            if time.monotonic() > end:
                sys.exit(f"{' '.join(map(str, command[:2]))}: not done within {arguments.deadline:.0f} s")
            time.sleep(SECONDS_BETWEEN_READINGS)
    finally:
        ensure_ended(process)
    if process.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit code {process.returncode}")
    return peaks


def job(arguments, graph):
    return {
        "apiVersion": "espalier.io/v1alpha1", "kind": "DistTraining", "metadata": {"name": "memory-peaks"},
        "spec": {
            "graph": {"source": {"uri": str(graph), "format": "NPY"},
                      "partitions": {"count": arguments.partitions, "algorithm": arguments.algorithm}},
            "training": {
                "task": {"type": "NodeClassification", "label": "node-label", "split": "random"},
                "inputs": [{"features": ["node-feat"]}],
                "model": {"type": "GraphSAGE", "aggregator": "Mean", "hiddenSize": arguments.hidden, "dropout": 0.5},
                "sampling": {"layers": [{"fanout": fanout} for fanout in arguments.fanouts]},
                "batchSize": arguments.batch_size, "epochs": arguments.epochs, "seed": 1,
                "optimizer": {"type": "Adam", "learningRate": 0.003},
                "evaluation": {"everyEpochs": arguments.epochs, "metric": "Accuracy",
                               "neighborhood": arguments.neighborhood}},
            "samplers": {"replicas": arguments.samplers},
            "trainers": {"replicas": arguments.trainers}}}


def measure(arguments, folder):
    """Generates the graph and runs the job. Returns (bytes of the graph, {(name, process id): Peak})."""
    graph, document = folder / "graph", folder / "job.json"
    peaks = watched(arguments, [
        arguments.bin / "espalier", "generate", "--shape", "products", "--nodes", round(NODES * arguments.scale), "--edges",
        round(EDGES * arguments.scale), "--quiet", "--output", graph])
    document.write_text(json.dumps(job(arguments, graph)))
    peaks |= watched(arguments, [arguments.bin / "espalier", "run", "-f", document, "--output", folder / "run", "--access",
                                 arguments.access, "--quiet"])
    return sum(file.stat().st_size for file in graph.rglob("*") if file.is_file()), peaks


def largest_by_name(peaks):
    """Returns {name: (number of processes, Peak of the largest)}, in the order in which the names were first seen."""
    largest = {}
    for (name, _), peak in peaks.items():
        count, before = largest.get(name, (0, Peak()))
        largest[name] = (count + 1, max(before, peak, key=lambda one: one.resident))
    return largest


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--bin", type=pathlib.Path, required=True, help="folder of the binaries")
    flags.add_argument("--scale", type=float, default=1.0, help="fraction of 25 M edges; small graphs mostly measure libraries")
    flags.add_argument("--algorithm", default="Streaming", choices=["Streaming", "Random", "METIS"])
    flags.add_argument("--partitions", type=int, default=2)
    flags.add_argument("--samplers", type=int, default=0)
    flags.add_argument("--trainers", type=int, default=1)
    flags.add_argument("--fanouts", type=lambda text: [int(word) for word in text.split(",")], default=[15, 10, 5])
    flags.add_argument("--batch-size", type=int, default=1024)
    flags.add_argument("--hidden", type=int, default=256)
    flags.add_argument("--epochs", type=int, default=1)
    flags.add_argument("--neighborhood", default="Sampled", choices=["Sampled", "Full"], help="neighborhood of the evaluation")
    flags.add_argument("--access", default="auto", choices=["mapped", "rpc", "auto"])
    flags.add_argument("--goal", type=float, default=3.0, help="largest allowed peak as a multiple of the graph's size on disk")
    flags.add_argument("--deadline", type=float, default=7200, help="time limit of each command in seconds")
    flags.add_argument("--folder", type=pathlib.Path, help="folder of the graph and the run; default: temporary")
    arguments = flags.parse_args()
    arguments.bin = arguments.bin.resolve()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: ends the job and removes its folder
    with tempfile.TemporaryDirectory(prefix="espalier-memory-peaks-", dir=arguments.folder) as name:
        graph_bytes, peaks = measure(arguments, pathlib.Path(name))
    print(f"{EDGES * arguments.scale / 1e6:.3g} M edges, {graph_bytes / MIB:.0f} MiB on disk; the goal is a peak of at most "
          f"{arguments.goal:g} times that")
    met = True
    for name, (count, peak) in largest_by_name(peaks).items():
        ratio = peak.resident / graph_bytes
        judged = not (arguments.algorithm == "METIS" and name == "espalier-partitioner")
        met = met and (ratio <= arguments.goal or not judged)
        verdict = ("met" if ratio <= arguments.goal else "missed") if judged else "not judged: METIS"
        print(f"{name:22} x{count} {peak.resident / MIB:7.0f} MiB, {peak.unreclaimable / MIB:.0f} of no mapped file: "
              f"{ratio:.2f} x the graph ({verdict})")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
