"""The programs of python/examples/torch, on Cora: each prints what stands behind its `print` lines, and the complete
ones reach their numbers."""

import contextlib
import importlib.util
import io
import os
import pathlib
import re
import subprocess
import sys
import unittest
import unittest.mock

import torch

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

import graphs

EXAMPLES = graphs.SOURCE / "python/examples/torch"
PRINTS = re.compile(r"^ *print\(.*\)  # (.*)$", re.MULTILINE)
ONE_THREAD = {"OMP_NUM_THREADS": "1"}  # of torch, whose threads would wait for each other beside other tests


class Examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = graphs.make_folder()
        cls.cora = graphs.partition(graphs.CORA, "OGB", 2, cls.folder, "--normalize-features")

    def test_examples_print_what_they_say(self):
        for path in sorted(EXAMPLES.glob("*.py")):
            with self.subTest(path.name):
                process = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=600,
                                         stdin=subprocess.DEVNULL,
                                         env={**os.environ, "ESPALIER_PARTITIONS": str(self.cora), **ONE_THREAD})
                self.assertEqual(process.returncode, 0, process.stderr)
                expected = PRINTS.findall(path.read_text())
                if expected:
                    self.assertEqual(process.stdout.splitlines(), expected)
                else:  # a number that depends on the machine
                    self.assertNotEqual(process.stdout, "")

    def test_graph_sage_of_pyg_learns_cora(self):
        """The mean of five seeds."""
        spec = importlib.util.spec_from_file_location("pyg_graph_sage", EXAMPLES / "pyg_graph_sage.py")
        example = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(example)
        torch.set_num_threads(1)
        accuracies = []
        for seed in range(1, 6):
            output = io.StringIO()
            with unittest.mock.patch.dict(os.environ, ESPALIER_PARTITIONS=str(self.cora)), \
                    contextlib.redirect_stdout(output):
                example.main(seed)
            accuracies.append(float(output.getvalue().split()[-1]))
        print("test accuracies on Cora:", accuracies)
        self.assertGreaterEqual(sum(accuracies) / 5, 0.79)

    def test_graph_sage_of_pyg_on_two_ranks(self):
        process = graphs.espalier(
            "run", "--set", f"graph.source.uri={graphs.CORA}", "--set", "graph.source.format=OGB", "--set",
            "graph.preprocess.normalizeFeatures=Row", "--set", "graph.partitions.count=2", "--set",
            "trainers.replicas=2", "--set", "trainers.threads=1", "--output", self.folder / "job", "--", sys.executable,
            EXAMPLES / "pyg_graph_sage.py", 1, 20, timeout=500)
        self.assertEqual(process.returncode, 0, process.stdout + process.stderr)
        log = (self.folder / "job/logs/trainer-0.log").read_text()
        self.assertGreater(float(re.search(r"^test accuracy: (\S+)$", log, re.MULTILINE)[1]), 0.5)


if __name__ == "__main__":
    unittest.main()
