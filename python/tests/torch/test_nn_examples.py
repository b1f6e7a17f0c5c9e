"""The examples of python/examples that need espalier.nn."""

import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import graphs  # noqa: E402

EXAMPLES = graphs.SOURCE / "python" / "examples"
PRINTS = re.compile(r"^ *print\(.*\)  # (.*)$", re.MULTILINE)


def setUpModule():
    global folder, cora
    folder = graphs.make_folder()
    cora = graphs.partition(graphs.CORA, "OGB", 2, folder, "--normalize-features")


class Examples(unittest.TestCase):
    def alone(self, name, *arguments):
        """Returns what an example prints, alone on Cora's partitions."""
        process = subprocess.run([sys.executable, EXAMPLES / name, *arguments], cwd=graphs.SOURCE, capture_output=True,
                                 text=True, timeout=200, check=False, stdin=subprocess.DEVNULL,
                                 env={**os.environ, "ESPALIER_PARTITIONS": str(cora)})
        self.assertEqual(process.returncode, 0, process.stderr)
        return process.stdout

    def test_model_files(self):
        expected = PRINTS.findall((EXAMPLES / "model_files.py").read_text())
        self.assertEqual(self.alone("model_files.py", folder / "model-files").splitlines(), expected)

    def test_graph_sage_alone_and_on_two_ranks(self):
        """Batches and masks do not depend on the number of ranks: what differs is the order of sums."""
        output = folder / "two-ranks"
        document = {"apiVersion": "espalier.io/v1alpha1", "kind": "DistTraining", "metadata": {"name": "two"}, "spec": {
            "graph": {"source": {"uri": str(graphs.CORA), "format": "OGB"}, "preprocess": {"normalizeFeatures": "Row"},
                      "partitions": {"count": 2}}, "trainers": {"replicas": 2, "threads": 1}}}
        process = subprocess.run([graphs.BIN / "espalier", "run", "-f", self.write(document), "--output", output, "--",
                                  sys.executable, EXAMPLES / "graph_sage.py"], cwd=graphs.SOURCE, capture_output=True,
                                 text=True, timeout=200, check=False, stdin=subprocess.DEVNULL)
        self.assertEqual(process.returncode, 0, process.stdout + process.stderr)
        accuracies = [float(re.search(r"test accuracy: (\S+)", text)[1]) for text in (
            self.alone("graph_sage.py"), (output / "logs/trainer-0.log").read_text())]
        for accuracy in accuracies:
            self.assertGreater(accuracy, 0.78)
        self.assertAlmostEqual(*accuracies, delta=0.01)

    def write(self, document):
        file = folder / "document.json"
        file.write_text(json.dumps(document))
        return file


if __name__ == "__main__":
    unittest.main()
