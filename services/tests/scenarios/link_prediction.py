"""Link prediction on Cora: the example job gives the same bits for any partitions and transports, and the graph
contains no held-out edge in either direction."""

import json
import subprocess
import sys

import numpy as np

from harness import SOURCE, Scenario, espalier

EXAMPLE = SOURCE / "services/examples/cora-links.yaml"


class LinkPrediction(Scenario):
    def setUp(self):
        super().setUp()
        self.graph = self.dir / "cora-links"
        subprocess.run([sys.executable, str(SOURCE / "services/examples/cora_links.py"), str(self.graph)], check=True,
                       timeout=120)
        self.counter = 0

    def train(self, *args, partitions=2, trainers=1, **training):
        """Runs the example with some fields changed; returns result.json."""
        self.counter += 1
        output = self.dir / f"run-{self.counter}"
        fields = {"spec.graph.source.uri": self.graph, "spec.graph.partitions.count": partitions,
                  "spec.trainers.replicas": trainers}
        fields |= {f"spec.training.{name}": value for name, value in training.items()}
        sets = [word for name, value in fields.items() for word in ("--set", f"{name}={value}")]
        process = espalier("run", "-f", EXAMPLE, "--output", output, *sets, *args, timeout=240)
        self.assertEqual(process.returncode, 0, process.stdout + process.stderr)
        return json.loads((output / "result.json").read_text())

    def test_the_example_finds_citations(self):
        result = self.train()
        # With 2708 candidates, random scores give 0.003.
        self.assertGreater(result["testMrr"], 0.05)
        self.assertEqual(result["edges"], 2 * (5278 - 264 - 528))  # held-out edges are in neither direction

    def test_omitted_training_edges_are_reported_once(self):
        edges = np.load(self.graph / "edges.npy")
        parts = {part: edges[:, np.load(self.graph / f"{part}.npy")] for part in ("train", "validation", "test")}
        leaks = parts["test"][::-1, :3]  # the same citations in the opposite direction
        parts["train"] = np.concatenate([parts["train"], leaks], axis=1)
        for part, pairs in parts.items():
            np.save(self.graph / f"{part}.npy", np.ascontiguousarray(pairs))
        process = espalier("run", "-f", EXAMPLE, "--output", self.dir / "leaky", "--set",
                           f"graph.source.uri={self.graph}", "--set", "training.epochs=1", timeout=240)
        self.assertEqual(process.returncode, 0, process.stderr)
        warning = f"warning: split 'links': 3 of {parts['train'].shape[1]} training edges are left out"
        self.assertEqual(process.stderr.count(warning), 1, process.stderr)

    def test_partitions_and_transports_change_no_bit_and_trainers_only_rounding(self):
        one = self.train("--audit", partitions=1, epochs=2)
        for partitions, access in ((4, "mapped"), (4, "rpc")):
            other = self.train("--audit", "--access", access, partitions=partitions, epochs=2)
            self.assertEqual(other["samplesDigest"], one["samplesDigest"])
            self.assertEqual(other["parametersDigest"], one["parametersDigest"])
            self.assertEqual(other["testMrr"], one["testMrr"])
        two = self.train("--audit", partitions=2, trainers=2, epochs=2)
        self.assertEqual(two["samplesDigest"], one["samplesDigest"])
        for mine, theirs in zip(two["lossPerStep"], one["lossPerStep"], strict=True):
            self.assertLess(abs(mine - theirs), 1e-4 * abs(theirs))
        self.assertAlmostEqual(two["testMrr"], one["testMrr"], delta=0.01)

    def test_labor_excludes_the_edges_of_the_batch(self):
        labor = {"sampling.method": "Labor", "epochs": 1}
        one = self.train("--audit", partitions=1, **labor)
        three = self.train("--audit", "--access", "rpc", partitions=3, **labor)
        self.assertEqual(three["samplesDigest"], one["samplesDigest"])
        self.assertEqual(three["parametersDigest"], one["parametersDigest"])
        self.assertNotEqual(one["samplesDigest"], self.train("--audit", partitions=1, epochs=1)["samplesDigest"])
