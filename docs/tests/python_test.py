"""The programs of docs/python.md (python/examples), done on Cora: each prints what stands behind its `print` lines, and
the complete ones reach their numbers alone and on two ranks over servers. Those that need PyTorch lie in the folder torch,
and python/tests/pinned/test_examples.py does them; those in the folder guide are run by guide_test.py."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from pages import DOCS, SOURCE

BIN = pathlib.Path(os.environ["ESPALIER_BIN"])
EXAMPLES = SOURCE / "python" / "examples"
PRINTS = re.compile(r"^ *print\(.*\)  # (.*)$", re.MULTILINE)
CORA = ["--set", f"graph.source.uri={SOURCE / 'services/examples/cora'}", "--set", "graph.source.format=OGB",
        "--set", "graph.preprocess.normalizeFeatures=Row", "--set", "graph.partitions.count=2"]


class PythonTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = pathlib.Path(tempfile.mkdtemp(prefix="espalier-python-"))
        cls.addClassCleanup(shutil.rmtree, cls.dir, ignore_errors=True)
        cls.cora = cls.partitions("cora", SOURCE / "services/examples/cora", "OGB", "--normalize-features")

    @classmethod
    def partitions(cls, name, source, source_format, *flags):
        process = cls.espalier("partition", source, "--format", source_format, "--output", cls.dir / name, *flags)
        if process.returncode != 0:
            raise RuntimeError(process.stderr)
        folder, = (cls.dir / name).iterdir()
        return folder

    @classmethod
    def espalier(cls, *arguments):
        """By the package: `python -m espalier`, which starts the program of the build."""
        return subprocess.run([sys.executable, "-m", "espalier", *map(str, arguments)], capture_output=True, text=True,
                              timeout=200, check=False, stdin=subprocess.DEVNULL)

    def alone(self, example, partitions, *arguments):
        process = subprocess.run([sys.executable, EXAMPLES / example, *arguments], cwd=SOURCE, capture_output=True,
                                 text=True, timeout=200, check=False, stdin=subprocess.DEVNULL,
                                 env={**os.environ, "ESPALIER_PARTITIONS": str(partitions)})
        self.assertEqual(process.returncode, 0, process.stderr)
        return process.stdout

    def run_job(self, name, graph, *program):
        """Runs a program on two ranks over two servers; returns the log of rank 0."""
        process = self.espalier("run", *graph, "--set", "trainers.replicas=2", "--set", "trainers.threads=1",
                                "--output", self.dir / name, "--", *program)
        self.assertEqual(process.returncode, 0, process.stdout + process.stderr)
        return (self.dir / name / "logs/trainer-0.log").read_text()

    def test_every_example_is_on_a_page(self):
        pages = "".join(page.read_text() for page in [SOURCE / "README.md", *DOCS.rglob("*.md")])
        shown = set(re.findall(r"^<!-- from: python/examples/(\S+) -->$", pages, re.MULTILINE))
        self.assertEqual(shown, {str(path.relative_to(EXAMPLES)) for path in EXAMPLES.rglob("*.py")})

    def test_examples_print_the_documented_output(self):
        found = 0
        for path in sorted(EXAMPLES.glob("*.py")):
            expected = PRINTS.findall(path.read_text())
            if expected:
                found += 1
                with self.subTest(path.name):
                    self.assertEqual(self.alone(path.name, self.cora, self.dir / path.stem).splitlines(), expected)
        self.assertGreaterEqual(found, 7)

    def test_softmax_regression_matches_the_cpp_program(self):
        graph = self.dir / "generated"
        process = self.espalier("generate", "--nodes", 6000, "--edges", 60000, "--features", 16, "--classes", 10,
                                "--train", 0.5, "--seed", 3, "--output", graph)
        self.assertEqual(process.returncode, 0, process.stderr)
        source = ["--set", f"graph.source.uri={graph}", "--set", "graph.source.format=NPY", "--set",
                  "graph.partitions.count=2"]
        self.run_job("in-cpp", source, BIN / "espalier_example_training_loop", 10)
        wanted = json.loads((self.dir / "in-cpp/result.json").read_text())
        self.assertGreater(wanted["testAccuracy"], 0.3)
        self.run_job("in-python", source, sys.executable, EXAMPLES / "softmax_regression.py", "random", 10)
        found = json.loads((self.dir / "in-python/result.json").read_text())
        alone = json.loads(self.alone("softmax_regression.py", self.partitions("npy", graph, "NPY"), "random", "10"))
        for result in (found, alone):  # sums of products are taken in another order
            self.assertAlmostEqual(result["lastLoss"], wanted["lastLoss"], 9)
            self.assertEqual(result["testAccuracy"], wanted["testAccuracy"])

    def test_softmax_regression_resumes(self):
        whole = self.run_job("whole", CORA, sys.executable, EXAMPLES / "softmax_regression.py", "public", 6)
        self.run_job("begun", CORA, sys.executable, EXAMPLES / "softmax_regression.py", "public", 3)
        resume = ["env", f"ESPALIER_OUTPUT={self.dir / 'begun'}", "ESPALIER_RESUME=auto", sys.executable,
                  EXAMPLES / "softmax_regression.py", "public"]
        resumed = self.run_job("resumed", CORA, *resume, 6)
        self.assertEqual(resumed.splitlines()[-1], whole.splitlines()[-1])
        again = self.run_job("again", CORA, *resume, 6)
        self.assertIn('"lastLoss": null', again)  # it has read that no epoch is left

    def test_learnable_rows_resume(self):
        folder = self.dir / "rows"
        self.alone("embedding.py", self.cora, folder)
        resumed = self.alone("embedding.py", self.cora, folder)  # no step is left of the epoch
        self.assertEqual(resumed, "resumed\n3 1\n")

    def test_simple_graph_convolution_learns_cora(self):
        alone = self.alone("simple_graph_convolution.py", self.cora)
        log = self.run_job("convolution", CORA, sys.executable, EXAMPLES / "simple_graph_convolution.py")
        for text in (alone, log):
            accuracy, = re.findall(r"^test accuracy: (\S+)$", text, re.MULTILINE)
            self.assertGreater(float(accuracy), 0.75)


if __name__ == "__main__":
    unittest.main()
