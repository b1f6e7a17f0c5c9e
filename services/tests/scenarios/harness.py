"""Functions that all scenarios use: the binaries, a scratch folder, jobs as dictionaries, and runs with a deadline."""

import contextlib
import copy
import json
import os
import pathlib
import pty
import shutil
import subprocess
import tempfile
import unittest

BIN = pathlib.Path(os.environ["ESPALIER_BIN"])
SOURCE = pathlib.Path(os.environ["ESPALIER_SOURCE"])
CORA = SOURCE / "services/examples/cora"


def espalier(*args, timeout=120, **kwargs):
    """Runs `espalier ARGS` to its end; raises TimeoutExpired after `timeout` seconds."""
    return subprocess.run([str(BIN / "espalier"), *map(str, args)], capture_output=True, text=True, timeout=timeout,
                          stdin=subprocess.DEVNULL, **kwargs)


def on_a_terminal(*args):
    """Runs `espalier ARGS` with a terminal as standard error. Returns the exit code and the output to the terminal."""
    ours, terminal = pty.openpty()
    with subprocess.Popen([str(BIN / "espalier"), *map(str, args)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=terminal, env=os.environ | {"TERM": "xterm"}) as process:
        os.close(terminal)
        painted = b""
        with contextlib.suppress(OSError):  # after all processes have closed the terminal
            while piece := os.read(ours, 65536):
                painted += piece
    os.close(ours)
    return process.returncode, painted.decode()


def job(source, source_format="NPY", **changes):
    """Returns a small node classification job. `changes` are paths below spec, with '__' as separator:
    training__epochs=3."""
    document = {
        "apiVersion": "espalier.io/v1alpha1",
        "kind": "DistTraining",
        "metadata": {"name": "scenario"},
        "spec": {
            "graph": {"source": {"uri": str(source), "format": source_format},
                      "partitions": {"count": 2, "algorithm": "METIS"}},
            "training": {
                "task": {"type": "NodeClassification", "label": "node-label", "split": "random"},
                "inputs": [{"features": ["node-feat"]}],
                "model": {"type": "GraphSAGE", "aggregator": "Mean", "hiddenSize": 16, "dropout": 0.5},
                "sampling": {"layers": [{"fanout": 5}, {"fanout": 5}]},
                "batchSize": 128, "epochs": 3, "seed": 1,
                "optimizer": {"type": "Adam", "learningRate": 0.01},
                "evaluation": {"everyEpochs": 1, "metric": "Accuracy", "neighborhood": "Full"},
            },
            "samplers": {"replicas": 0},
            "trainers": {"replicas": 1, "threads": 1},
        },
    }
    for path, value in changes.items():
        *parents, last = path.split("__")
        at = document["spec"]
        for part in parents:
            at = at.setdefault(part, {})
        at[last] = copy.deepcopy(value)
    return document


class Scenario(unittest.TestCase):
    """A test case with a scratch folder that is kept when the test, or a part of it (subTest), fails."""

    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="espalier-scenario-"))
        self.addCleanup(self._clean)

    def _clean(self):
        result = getattr(self._outcome, "result", None)  # none in TestCase.debug
        # A failed subTest is listed as a test of its own, whose attribute `test_case` is the test.
        failed = result is not None and any(
            getattr(test, "test_case", test) is self for test, _ in result.failures + result.errors)
        if failed:
            print("kept:", self.dir)
        else:
            shutil.rmtree(self.dir, ignore_errors=True)

    def write_job(self, document, name="job.json"):
        path = self.dir / name
        path.write_text(json.dumps(document))
        return path

    def start(self, document, name="run", *args, **kwargs):
        """Starts `espalier run` without waiting."""
        path = self.write_job(document, name + ".json")
        return subprocess.Popen([str(BIN / "espalier"), "run", "-f", str(path), "--output", str(self.dir / name),
                                 *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                stdin=subprocess.DEVNULL, **kwargs)

    def run_job(self, document, name="run", *args, timeout=240):
        """Runs `espalier run` to its end; returns result.json."""
        path = self.write_job(document, name + ".json")
        process = espalier("run", "-f", path, "--output", self.dir / name, *args, timeout=timeout)
        self.assertEqual(process.returncode, 0, process.stdout + process.stderr)
        return json.loads((self.dir / name / "result.json").read_text())

    def generate(self, *args, name="graph"):
        path = self.dir / name
        process = espalier("generate", "--output", path, "--quiet", *args)
        self.assertEqual(process.returncode, 0, process.stdout + process.stderr)
        return path


def is_alive(pid):
    """Returns whether the process runs. False for a zombie: process 1 of a container may not wait for its children."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in ("Z", "X")


def children_of(pid):
    """Returns process ids and command lines of all descendants of a process."""
    parents = {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            stat = (entry / "stat").read_text()
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        fields = stat.rpartition(")")[2].split()
        parents[int(entry.name)] = (int(fields[1]), command)
    found, frontier = {}, {pid}
    while frontier:
        frontier = {child for child, (parent, _) in parents.items() if parent in frontier and child not in found}
        found.update({child: parents[child][1] for child in frontier})
    return found
