"""Trainers resume from the checkpoints in kept_checkpoints/, which earlier versions wrote.

libtorch-1.13: written by the last version on Debian's libtorch and its BLAS, after two epochs with the graph and the
document below and dropout 0.5.
"""

import json
import pathlib
import unittest

from harness import Scenario, job

KEPT = pathlib.Path(__file__).parent / "kept_checkpoints"


class KeptCheckpoints(Scenario):
    def test_a_checkpoint_of_another_torch_resumes_with_a_warning(self):
        graph = self.generate("--shape", "products", "--nodes", "200", "--edges", "1000", "--communities", "4", "--seed",
                              "1", "--features", "4", "--classes", "3", "--train", "0.5", "--validation", "0.2", "--test",
                              "0.2")
        document = job(graph)
        document["spec"]["graph"] = {"source": {"uri": str(graph), "format": "NPY"}, "partitions": {"count": 1}}
        document["spec"]["training"] = {
            "task": {"type": "NodeClassification", "label": "node-label", "split": "random"},
            "inputs": [{"features": ["node-feat"]}],
            "model": {"type": "GraphSAGE", "hiddenSize": 4, "dropout": 0.5},
            "sampling": {"layers": [{"fanout": 3}, {"fanout": 3}]}, "batchSize": 10, "epochs": 3, "seed": 1}
        document["spec"]["trainers"] = {"replicas": 1}
        document["spec"]["samplers"] = {"replicas": 0}
        document["spec"]["checkpoint"] = {"resumeFrom": str(KEPT / "libtorch-1.13")}
        result = self.run_job(document)
        manifest = json.loads((KEPT / "libtorch-1.13/000001-000000000020/manifest.json").read_text())
        self.assertEqual(result["lossPerEpoch"][:2],
                         [epoch["loss"] for epoch in manifest["loop"]["epochs"]])  # from the checkpoint
        self.assertEqual(len(result["lossPerEpoch"]), 3)
        log = (self.dir / "run/logs/trainer-0.log").read_text()
        self.assertRegex(log, r"torch was 1\.13\.0 and is 2\.\d+\.\d+: the run resumes from the same step; its results are "
                              "close to those of a run without the change")
        self.assertRegex(log, r"BLAS was \w+ 0\.3\.21 and is oneDNN \d")


if __name__ == "__main__":
    unittest.main()
