"""The files of the image espalier-core for arm64, which images/cross has collected: its programs run under QEMU with the libraries
of the image alone, answer as this machine's programs do, and give a trainer of this machine the same mini-batches. Skipped where
images/cross has not run, or QEMU is not installed."""

import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from arm64_programs import HERE, ROOTFS, copy_root_of_image, needs, under_qemu

PROGRAMS = ("espalier", "espalier-operator", "espalier-partitioner", "espalier-graph-server", "espalier-sampler")
# `espalier run` starts these from the folder in which it is itself.
ROLES = ("espalier-partitioner", "espalier-graph-server", "espalier-sampler")
TRAINER = HERE / "espalier-trainer"
LEARNABLE = {"size": 8, "optimizer": {"type": "Adagrad", "learningRate": 0.05}}
# What differs between the log lines of two starts.
VARIES = re.compile(r'(?<="time":")[^"]+|(?<="admin":")[^"]+')


def job(graph, sampling, inputs):
    return {
        "apiVersion": "espalier.io/v1alpha1", "kind": "DistTraining", "metadata": {"name": "arm64"},
        "spec": {
            "graph": {"source": {"uri": str(graph), "format": "NPY"}, "partitions": {"count": 2, "algorithm": "METIS"}},
            "training": {
                "task": {"type": "NodeClassification", "label": "node-label", "split": "random"},
                "inputs": [inputs], "sampling": sampling,
                "model": {"type": "GraphSAGE", "aggregator": "Mean", "hiddenSize": 16, "dropout": 0.5},
                "batchSize": 256, "epochs": 2, "seed": 1, "optimizer": {"type": "Adam", "learningRate": 0.01},
            },
            "samplers": {"replicas": 1}, "trainers": {"replicas": 1, "threads": 1},
        },
    }


@needs(*(folder / name for name in PROGRAMS for folder in (ROOTFS / "usr/bin", HERE)))
class ImageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="espalier-arm64-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.root = cls.folder / "root"
        copy_root_of_image(cls.root)

    def command(self, processor, name):
        return [HERE / name] if processor == "here" else under_qemu(self.root, self.root / "usr/bin" / name)

    def answers(self, name, *words):
        """Returns (exit code, standard output, standard error) of a program, on this machine and under QEMU."""
        for processor in ("here", "arm64"):
            done = subprocess.run([*self.command(processor, name), *words], capture_output=True, text=True, timeout=120,
                                  check=False, cwd=self.folder)
            yield done.returncode, done.stdout, VARIES.sub("", done.stderr)

    def test_all_programs_and_libraries_are_for_arm64(self):
        files = [path for path in ROOTFS.rglob("*") if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"]
        self.assertGreater(len(files), len(PROGRAMS))
        # e_machine, at offset 18 of the header: EM_AARCH64 is 183.
        self.assertEqual([path for path in files if int.from_bytes(path.read_bytes()[18:20], "little") != 183], [])

    def test_help_and_version_are_those_of_this_machine(self):
        for name in PROGRAMS:
            with self.subTest(name):
                here, there = self.answers(name, "--help")
                self.assertEqual(there, here)
                self.assertEqual(there[0], 0)
                self.assertIn(f"Usage: {name} [OPTIONS]", there[1])
        for name in ("espalier", "espalier-operator"):
            with self.subTest(name):
                here, there = self.answers(name, "--version")
                self.assertEqual(there, here)
                self.assertEqual(there[0], 0)

    def test_the_operator_refuses_a_kubeconfig_that_is_missing(self):
        here, there = self.answers("espalier-operator", "--kubeconfig", "absent")
        self.assertEqual(there, here)
        code, output, log = there
        self.assertEqual((code, output), (65, ""))
        self.assertEqual(json.loads(log.splitlines()[-1])["error"], "NOT_FOUND: no kubeconfig: there is no absent")

    @needs(TRAINER)
    def test_a_trainer_gets_the_same_mini_batches_from_servers_and_samplers_on_arm64(self):
        programs = self.folder / "programs"
        programs.mkdir()
        shutil.copy(HERE / "espalier", programs)
        (programs / "espalier-trainer").symlink_to(TRAINER)
        for name in ROLES:
            words = " ".join(f"'{word}'" for word in self.command("arm64", name))
            (programs / name).write_text(f'#!/bin/sh\nexec {words} "$@"\n')
            (programs / name).chmod(0o755)
        graph = self.folder / "graph"
        subprocess.run([HERE / "espalier", "generate", "--nodes", "3000", "--edges", "30000", "--features", "16", "--classes", "4",
                        "--edge-weights", "--seed", "7", "--quiet", "--output", graph], check=True, timeout=120)

        layers = [{"fanout": 5}, {"fanout": 5}]
        ways = {
            "uniform": ({"layers": layers}, {"features": ["node-feat"]}),
            "weighted": ({"layers": layers, "weight": "weight"}, {"features": ["node-feat"]}),
            "Labor": ({"layers": layers, "method": "Labor"}, {"features": ["node-feat"]}),
            "learnable rows": ({"layers": layers}, {"embedding": LEARNABLE}),
        }
        digests = set()
        for way, (sampling, inputs) in ways.items():
            document = self.folder / f"{way}.json"
            document.write_text(json.dumps(job(graph, sampling, inputs)))
            results = {}
            for processor, folder in (("here", HERE), ("arm64", programs)):
                output = self.folder / processor / way
                done = subprocess.run([folder / "espalier", "run", "-f", document, "--output", output, "--access", "rpc", "--audit",
                                       "--quiet"], capture_output=True, text=True, timeout=500, check=False)
                logs = "".join(path.read_text() for path in output.glob("logs/*"))
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr + logs)
                results[processor] = json.loads((output / "result.json").read_text())
            with self.subTest(way):
                for value in ("samplesDigest", "parametersDigest", "lossPerEpoch", "testAccuracy"):
                    self.assertEqual(results["arm64"][value], results["here"][value], value)
            digests.add(results["here"]["samplesDigest"])
        self.assertEqual(len(digests), 3)  # learnable rows are read for the uniform samples


if __name__ == "__main__":
    unittest.main()
