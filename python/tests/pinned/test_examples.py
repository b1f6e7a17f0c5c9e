"""The programs of python/examples/torch, on Cora: they print what stands behind their `print` lines, or reach their
numbers."""

import contextlib
import importlib.util
import io
import os
import re
import subprocess
import sys
import unittest
import unittest.mock

import torch

import graphs

EXAMPLES = graphs.SOURCE / "python/examples/torch"
PRINTS = re.compile(r"^ *print\(.*\)  # (.*)$", re.MULTILINE)
ONE_THREAD = {"OMP_NUM_THREADS": "1"}  # of torch, whose threads would wait for each other beside other tests


class Examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = graphs.make_folder()
        cls.cora = graphs.partition(graphs.CORA, "OGB", 2, cls.folder, "--normalize-features")

    def alone(self, name, *arguments):
        """Returns what an example prints, alone on Cora's partitions."""
        process = subprocess.run([sys.executable, EXAMPLES / name, *map(str, arguments)], cwd=graphs.SOURCE,
                                 capture_output=True, text=True, timeout=600, stdin=subprocess.DEVNULL,
                                 env={**os.environ, "ESPALIER_PARTITIONS": str(self.cora), **ONE_THREAD})
        self.assertEqual(process.returncode, 0, process.stderr)
        return process.stdout

    def on_two_ranks(self, name, *arguments):
        """Returns the log of rank 0."""
        process = graphs.espalier(
            "run", "--set", f"graph.source.uri={graphs.CORA}", "--set", "graph.source.format=OGB", "--set",
            "graph.preprocess.normalizeFeatures=Row", "--set", "graph.partitions.count=2", "--set",
            "trainers.replicas=2", "--set", "trainers.threads=1", "--output", self.folder / name, "--", sys.executable,
            EXAMPLES / name, *arguments, timeout=500)
        self.assertEqual(process.returncode, 0, process.stdout + process.stderr)
        return (self.folder / name / "logs/trainer-0.log").read_text()

    def accuracy_in(self, text):
        return float(re.search(r"^test accuracy: (\S+)$", text, re.MULTILINE)[1])

    def test_examples_print_what_they_say(self):
        for path in sorted(EXAMPLES.glob("*.py")):
            expected = PRINTS.findall(path.read_text())
            if expected:
                with self.subTest(path.name):
                    self.assertEqual(self.alone(path.name, self.folder / path.stem).splitlines(), expected)

    def test_graph_sage_alone_and_on_two_ranks(self):
        """Batches and masks do not depend on the number of ranks: what differs is the order of sums."""
        accuracies = [self.accuracy_in(self.alone("graph_sage.py")), self.accuracy_in(self.on_two_ranks("graph_sage.py"))]
        for accuracy in accuracies:
            self.assertGreater(accuracy, 0.78)
        self.assertAlmostEqual(*accuracies, delta=0.01)

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
        self.assertGreater(self.accuracy_in(self.on_two_ranks("pyg_graph_sage.py", 1, 20)), 0.5)

    def test_graph_sage_of_dgl_on_two_ranks(self):
        self.assertGreater(self.accuracy_in(self.on_two_ranks("dgl_graphsage.py")), 0.77)

    def test_link_prediction_of_dgl_learns(self):
        losses = [float(line.split()[-1]) for line in self.alone("dgl_link_prediction.py").splitlines()]
        self.assertEqual((len(losses), sorted(losses, reverse=True)), (3, losses))


if __name__ == "__main__":
    unittest.main()
