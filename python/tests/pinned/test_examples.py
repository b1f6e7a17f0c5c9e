"""Runs the programs of python/examples/torch on Cora. Compares their output with the comments of their `print`
lines; for programs without such comments, checks accuracies and losses."""

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
DATA = os.environ.get("ESPALIER_TEST_DATA")
PRINTS = re.compile(r"^ *print\(.*\)  # (.*)$", re.MULTILINE)
CORA = {"graph.source.uri": graphs.CORA, "graph.source.format": "OGB", "graph.preprocess.normalizeFeatures": "Row"}
ONE_THREAD = {"OMP_NUM_THREADS": "1"}  # torch's threads would wait for each other if other tests run at the same time


class Examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = graphs.make_folder()
        cls.cora = graphs.partition(graphs.CORA, "OGB", 2, cls.folder, "--normalize-features")

    def alone(self, name, *arguments, partitions=None):
        """Returns the output of an example in one process on partitions, by default those of Cora."""
        process = subprocess.run([sys.executable, EXAMPLES / name, *map(str, arguments)], cwd=graphs.SOURCE,
                                 capture_output=True, text=True, timeout=600, stdin=subprocess.DEVNULL,
                                 env={**os.environ, "ESPALIER_PARTITIONS": str(partitions or self.cora),
                                      **ONE_THREAD})
        self.assertEqual(process.returncode, 0, process.stderr)
        return process.stdout

    def on_two_ranks(self, name, *arguments, graph=CORA):
        """Runs an example on two ranks and returns the log of rank 0."""
        fields = {**graph, "graph.partitions.count": 2, "trainers.replicas": 2, "trainers.threads": 1}
        process = graphs.espalier(
            "run", *(f"--set={field}={value}" for field, value in fields.items()), "--output", self.folder / name, "--",
            sys.executable, EXAMPLES / name, *arguments, timeout=500)
        self.assertEqual(process.returncode, 0, process.stdout + process.stderr)
        return (self.folder / name / "logs/trainer-0.log").read_text()

    def accuracy_in(self, text):
        return float(re.search(r"^test accuracy: (\S+)$", text, re.MULTILINE)[1])

    def test_examples_print_the_documented_output(self):
        for path in sorted(EXAMPLES.glob("*.py")):
            expected = PRINTS.findall(path.read_text())
            if expected:
                with self.subTest(path.name):
                    self.assertEqual(self.alone(path.name, self.folder / path.stem).splitlines(), expected)

    def test_graph_sage_alone_and_on_two_ranks(self):
        """Batches and masks do not depend on the number of ranks; only the order of sums differs."""
        accuracies = [self.accuracy_in(self.alone("graph_sage.py")), self.accuracy_in(self.on_two_ranks("graph_sage.py"))]
        for accuracy in accuracies:
            self.assertGreater(accuracy, 0.78)
        self.assertAlmostEqual(*accuracies, delta=0.01)

    def test_a_program_for_gpus_runs_on_processors(self):
        self.assertGreater(self.accuracy_in(self.alone("gpu.py")), 0.77)

    def test_graph_sage_of_pyg_learns_cora(self):
        """Tests the mean of five seeds."""
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

    @unittest.skipUnless(DATA, "ESPALIER_TEST_DATA is not set")
    def test_a_knowledge_graph_alone_and_on_two_ranks(self):
        """The knowledge graph is UMLS."""
        source = f"{DATA}/kg/umls"
        arguments = "--size 64 --negatives 64 --batch-size 256 --epochs 4".split()
        partitions = graphs.partition(source, "Triples", 2, self.folder, "--add-reverse-edges", "--algorithm", "Random")
        of_ranks = self.on_two_ranks("knowledge_graph.py", *arguments, graph={
            "graph.source.uri": source, "graph.source.format": "Triples", "graph.preprocess.addReverseEdges": "true"})
        for text in self.alone("knowledge_graph.py", *arguments, partitions=partitions), of_ranks:
            losses = [float(loss) for loss in re.findall(r"loss (\S+)", text)]
            self.assertEqual((len(losses), sorted(losses, reverse=True)), (4, losses))
            self.assertGreater(float(re.search(r"^test MRR: (\S+)$", text, re.MULTILINE)[1]), 0.7)


if __name__ == "__main__":
    unittest.main()
