"""Tests jobs that Python starts, their results, and batches that are equal to those of the job's trainers."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

import numpy as np

import espalier as ep

SOURCE = pathlib.Path(os.environ["ESPALIER_SOURCE"])


def document(**spec):
    training = {"task": {"type": "NodeClassification", "label": "node-label", "split": "public"},
                "inputs": [{"features": ["node-feat"]}],
                "model": {"type": "GraphSAGE", "hiddenSize": 16},
                "sampling": {"layers": [{"fanout": 10}, {"fanout": 5}]},
                "batchSize": 32, "epochs": 3, "seed": 7}
    return {"apiVersion": "espalier.io/v1alpha1", "kind": "DistTraining", "metadata": {"name": "cora"},
            "spec": {"graph": {"source": {"uri": str(SOURCE / "services/examples/cora"), "format": "OGB"},
                               "partitions": {"count": 2}}, "training": training, **spec}}


class JobsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_results_are_arrays_under_original_ids(self):
        results = ep.run(document(), self.folder / "out", set={"training.epochs": 4}, progress=False)
        self.assertEqual(results.result["epochs"], 4)
        self.assertEqual([line["epoch"] for line in results.epochs], [0, 1, 2, 3])
        ids, embeddings = results.embeddings()
        self.assertEqual(embeddings.shape, (2708, 16))
        np.testing.assert_array_equal(ids, np.arange(2708))
        labels, logits = results.predictions()[1], results.logits("node")[1]
        np.testing.assert_array_equal(labels, logits.argmax(axis=1))
        # The accuracy of the result is that of the predictions.
        g = ep.DistGraph(results.partitions)
        test = g.split_nodes("public", "test")
        right = labels[g.to_original_ids(test)] == g.ndata["node-label"][test].reshape(-1)
        self.assertAlmostEqual(right.mean(), results.result["testAccuracy"], places=6)
        self.assertIn("trainer", results.log("trainer-0"))

    def test_the_loader_samples_like_the_trainers(self):
        job = document()
        job["spec"]["trainers"] = {"replicas": 1}
        # With --audit, the result of the run has a digest of all edges that its trainers sampled.
        (self.folder / "job.json").write_text(json.dumps(job))
        subprocess.run([ep.programs.path(), "run", "-f", self.folder / "job.json", "--output", self.folder / "out",
                        "--quiet", "--audit"], check=True, stdout=subprocess.DEVNULL, timeout=240)
        results = ep.Results(self.folder / "out")
        g = ep.DistGraph(results.partitions)
        loader = ep.DistNodeDataLoader(g, ep.NodesOfSplit("public"), ep.NeighborSampler([10, 5]), batch_size=32, seed=7)
        path = self.folder / "audit.bin"
        with ep.audit.AuditWriter(g, path) as audit:
            for _ in range(3):
                for batch in loader:
                    audit.record(batch)
        self.assertEqual(ep.audit.samples_digest([path]),
                         (results.result["samplesDigest"], results.result["sampledExpansions"]))

        other = ep.DistNodeDataLoader(g, ep.NodesOfSplit("public"), ep.NeighborSampler([10, 5]), batch_size=32, seed=8)
        with ep.audit.AuditWriter(g, path) as audit:
            for _ in range(3):
                for batch in other:
                    audit.record(batch)
        self.assertNotEqual(ep.audit.samples_digest([path])[0], results.result["samplesDigest"])

    def test_an_error_of_a_job_has_its_message_and_exit_code(self):
        job = document()
        job["spec"]["training"]["task"]["label"] = "absent"
        with self.assertRaisesRegex(ep.InvalidArgument, "no column 'absent'") as raised:
            ep.run(job, self.folder / "out", progress=False)
        self.assertEqual(raised.exception.exit_code, 64)
        with self.assertRaises(ep.NotFound):
            ep.Results(self.folder / "out")

    def test_a_program_that_fails_ends_the_run_with_its_code(self):
        script = self.folder / "program.py"
        script.write_text("import espalier as ep\nep.DistGraph().ndata['absent']\n")
        job = document()
        del job["spec"]["training"]
        with self.assertRaisesRegex(ep.InvalidArgument, "no column 'absent'") as raised:
            ep.run(job, self.folder / "out", program=[sys.executable, script], progress=False)
        self.assertEqual(raised.exception.exit_code, 65)

    def test_a_run_ends_with_the_process_that_started_it(self):
        program = self.folder / "program.py"
        program.write_text("import os, time\nprint('pid', os.getppid(), flush=True)\ntime.sleep(600)\n")
        job = document()
        del job["spec"]["training"]
        starter = self.folder / "starter.py"
        starter.write_text(f"import espalier as ep\nep.run({job!r}, {str(self.folder / 'out')!r}, "
                           f"program=[{sys.executable!r}, {str(program)!r}], progress=False)\n")
        parent = subprocess.Popen([sys.executable, starter], stderr=subprocess.DEVNULL)
        log = self.folder / "out/logs/trainer-0.log"
        run = int(self.eventually(lambda: log.exists() and re.search(r"^pid (\d+)$", log.read_text(), re.MULTILINE))[1])
        parent.kill()
        parent.wait()
        self.eventually(lambda: not pathlib.Path(f"/proc/{run}").exists())

    def eventually(self, condition):
        """Waits until `condition` returns a true value, and returns this value."""
        deadline = time.monotonic() + 120
        while not (found := condition()):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)
        return found


if __name__ == "__main__":
    unittest.main()
