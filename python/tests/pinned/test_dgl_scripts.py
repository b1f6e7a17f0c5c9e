"""Runs scripts of DGL's user guide with changed import lines, alone and as ranks of a job. The code of the guide is
test data in ESPALIER_TEST_DATA."""

import json
import os
import pathlib
import subprocess
import sys
import unittest

import espalier as ep
import espalier.dgl as dgl
import graphs

HERE = pathlib.Path(__file__).parent
DATA = os.environ.get("ESPALIER_TEST_DATA")
CHAPTER = DATA and pathlib.Path(DATA) / "dgl-chapter-7"
SAMPLING = {"layers": [{"fanout": 10}, {"fanout": 5}]}


def job(partitions=2, ranks=2, **spec):
    return {"apiVersion": "espalier.io/v1alpha1", "kind": "DistTraining", "metadata": {"name": "cora"},
            "spec": {"graph": {"source": {"uri": str(graphs.CORA), "format": "OGB"},
                               "preprocess": {"normalizeFeatures": "Row"}, "partitions": {"count": partitions}},
                     "trainers": {"replicas": ranks, "threads": 1}, **spec}}


def run(output, script, *arguments, tls=False, **options):
    """Runs a script as the ranks of a job; returns the log of rank 0."""
    program = [sys.executable, script, *map(str, arguments)]
    return ep.run(job(**options), output, program=program, tls=tls, progress=False).log("trainer-0")


def result_in(log):
    """Returns the result that chapter.py has printed."""
    return json.loads([line for line in log.splitlines() if line.startswith('{"ranks"')][-1])


def accuracy(log):
    return result_in(log)["testAccuracy"]


class Scripts(unittest.TestCase):
    def setUp(self):
        self.folder = graphs.make_folder()

    def alone(self, script, *arguments, **environment):
        kept = {name: value for name, value in os.environ.items()
                if name not in ("ESPALIER_PARTITIONS", "RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")}
        done = subprocess.run([sys.executable, script, *map(str, arguments)], cwd=self.folder, capture_output=True,
                              text=True, timeout=240, env={**kept, "OMP_NUM_THREADS": "1", **environment})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    @unittest.skipUnless(DATA, "ESPALIER_TEST_DATA is not set")
    def test_the_chapters_example(self):
        data = graphs.Cora()
        graph = dgl.graph((data.edges[0], data.edges[1]), num_nodes=data.num_nodes)
        graph.ndata["feat"], graph.ndata["label"] = data.features / data.features.sum(1, keepdims=True), data.labels
        for name, ids in ("train_mask", data.train), ("test_mask", data.test):
            mask = graph.ndata[name] = data.labels < 0
            mask[ids] = True
        dgl.distributed.partition_graph(graph, "part_config", 2, self.folder)
        alone = accuracy(self.alone(HERE / "chapter.py", CHAPTER / "node_classification.py", 20, 1))
        self.assertGreater(alone, 0.77)
        of_ranks = accuracy(run(self.folder / "run", HERE / "chapter.py", CHAPTER / "node_classification.py", 20, 1))
        self.assertGreater(of_ranks, 0.77)

    @unittest.skipUnless(DATA, "ESPALIER_TEST_DATA is not set")
    def test_the_chapters_example_reads_the_same_rows_everywhere(self):
        """For every partitioning, and with mutual TLS. Another seed gives other rows."""
        def numbers(name, seed=1, **options):
            result = result_in(run(self.folder / name, HERE / "chapter.py", CHAPTER / "node_classification.py", 2, seed,
                                   **options))
            return result["idsRead"], result["testAccuracy"]

        expected = numbers("once", partitions=1)
        self.assertEqual(numbers("two", partitions=2, tls=True), expected)
        self.assertEqual(numbers("four", partitions=4), expected)
        self.assertNotEqual(numbers("other", seed=2, partitions=1)[0], expected[0])

    @unittest.skipUnless(DATA, "ESPALIER_TEST_DATA is not set")
    def test_the_chapters_statements(self):
        partitions = graphs.partition(graphs.CORA, "OGB", 2, self.folder)
        for printed in (self.alone(HERE / "snippets.py", CHAPTER / "apis.py", ESPALIER_PARTITIONS=str(partitions)),
                        run(self.folder / "out", HERE / "snippets.py", CHAPTER / "apis.py")):
            lines = printed.splitlines()
            self.assertEqual(lines[-1], "done")
            self.assertIn("2708", lines)
            self.assertIn("tensor([[0., 0., 0., 0., 0., 0., 0., 0., 0., 0.],", lines)

    def test_a_loader_samples_like_the_trainers_of_a_job(self):
        training = {"task": {"type": "NodeClassification", "label": "node-label", "split": "public"},
                    "inputs": [{"features": ["node-feat"]}], "model": {"type": "GraphSAGE", "hiddenSize": 8},
                    "sampling": SAMPLING, "batchSize": 64, "epochs": 2, "seed": 7}
        (self.folder / "job.json").write_text(json.dumps(job(ranks=1, training=training)))
        subprocess.run([ep.programs.path(), "run", "-f", self.folder / "job.json", "--output", self.folder / "trainers",
                        "--quiet", "--audit"], check=True, stdout=subprocess.DEVNULL, timeout=240)
        expected = ep.Results(self.folder / "trainers").result
        for ranks, options in ((1, {}), (2, {}), (2, {"partitions": 4, "tls": True})):
            audits = self.folder / f"audits-{ranks}-{len(options)}"
            audits.mkdir()
            run(self.folder / f"run-{ranks}-{len(options)}", HERE / "audited.py", audits, 2, 64 // ranks, 7, ranks=ranks,
                **options)
            self.assertEqual(ep.audit.samples_digest(sorted(audits.iterdir())),
                             (expected["samplesDigest"], expected["sampledExpansions"]))


if __name__ == "__main__":
    unittest.main()
