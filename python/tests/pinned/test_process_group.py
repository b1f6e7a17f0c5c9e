"""Tests torch.distributed in the ranks of a job: gloo with the variables that the job sets, and the backend
"espalier"."""

import pathlib
import re
import sys
import tempfile
import unittest

import torch

import espalier as ep
import graphs
from espalier.nn import model_file

SCRIPTS = pathlib.Path(__file__).parent / "scripts"


def document(replicas, training=None):
    spec = {"graph": {"source": {"uri": str(graphs.CORA), "format": "OGB"}, "partitions": {"count": 2}},
            "trainers": {"replicas": replicas}, "runPolicy": {"backoffLimit": 0}}
    return {"apiVersion": "espalier.io/v1alpha1", "kind": "DistTraining", "metadata": {"name": "ranks"},
            "spec": spec if training is None else {**spec, "training": training}}


class ProcessGroups(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_ranks(self, part, replicas=2, training=None, **options):
        """Runs scripts/torch_ranks.py to its end; returns the output of each rank after "result"."""
        output = self.folder / part
        try:
            ep.run(document(replicas, training), output, progress=False,
                   program=[sys.executable, SCRIPTS / "torch_ranks.py", part], **options)
        except ep.EspalierError as error:
            logs = "".join(log.read_text() for log in sorted((output / "logs").glob("trainer-*.log")))
            self.fail(f"{error}\n{logs}")
        logs = [(output / f"logs/trainer-{rank}.log").read_text() for rank in range(replicas)]
        return [re.search(r"^result (.*)$", log, re.MULTILINE).group(1) for log in logs], logs

    def test_gloo_reads_the_variables_of_the_job(self):
        results, logs = self.run_ranks("gloo")
        self.assertEqual(results, ["0 2 0 3.0", "1 2 1 3.0"])
        self.assertNotIn("plaintext", "".join(logs))

    def test_gloo_under_mutual_tls_warns(self):
        _, logs = self.run_ranks("gloo", tls=True)
        for log in logs:
            self.assertEqual(log.count("gloo sends in plaintext"), 1)

    def test_an_error_is_printed_with_a_group_of_torch_too(self):
        """torch.distributed wraps the package's exception hook in its own."""
        with self.assertRaisesRegex(AssertionError, r"(?s)65.*NotFound: a column.*Traceback.*line \d+, in error"):
            self.run_ranks("error")

    def test_operations_of_the_backend(self):
        results, logs = self.run_ranks("operations", replicas=3, tls=True)
        self.assertEqual(results, ["done"] * 3)
        self.assertNotIn("plaintext", "".join(logs))

    def test_data_parallel_training_sums_over_ranks(self):
        for ranks in (2, 3):
            results, _ = self.run_ranks("data_parallel", replicas=ranks)
            self.assertEqual(len(set(results)), 1)  # the same parameters on all ranks
            self.folder = self.folder / "again"
        again, _ = self.run_ranks("data_parallel", replicas=3)
        self.assertEqual(results, again)  # bit for bit

    def test_batch_normalization_has_the_statistics_of_all_ranks(self):
        for ranks in (2, 3):
            results, _ = self.run_ranks("batch_norm", replicas=ranks)
            self.assertEqual(len(set(results)), 1)  # the same bits on all ranks

    def test_batch_normalization_of_a_model_matches_trainers(self):
        training = {"task": {"type": "NodeClassification", "label": "node-label", "split": "public"},
                    "inputs": [{"features": ["node-feat"]}],
                    "model": {"type": "GraphSAGE", "hiddenSize": 16, "normalization": "Batch", "dropout": 0},
                    "sampling": {"layers": [{"fanout": 5}, {"fanout": 4}]}, "batchSize": 9, "epochs": 1, "seed": 3,
                    "optimizer": {"type": "SGD", "learningRate": 0.1}}
        # With the same partitions, so that rows have the same order.
        self.run_ranks("batch_norm_of_a_model", training=training)
        job = document(2, training)
        job["spec"]["trainers"]["threads"], job["spec"]["output"] = 1, {"save": ["Model"]}
        results = ep.run(job, self.folder / "job", progress=False)
        theirs = model_file.read_model_file(results.folder / "model/last.safetensors")[0]
        mine = model_file.read_model_file(self.folder / "batch_norm_of_a_model/trained.safetensors")[0]
        self.assertEqual(set(mine), set(theirs))
        for name, value in mine.items():
            torch.testing.assert_close(value, theirs[name], rtol=1e-4, atol=1e-6, msg=lambda text: f"{name}: {text}")


if __name__ == "__main__":
    unittest.main()
