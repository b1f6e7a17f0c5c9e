"""Runs the example job of services/examples/fb15k-237.yaml on folders of triples."""

import json
import os
import pathlib
import time

from harness import SOURCE, Scenario, espalier

EXAMPLE = SOURCE / "services/examples/fb15k-237.yaml"
DATA = pathlib.Path(os.environ["ESPALIER_TEST_DATA"]) / "kg"
# Settings for graphs of about a hundred entities.
SMALL = {"spec.training.model.hiddenSize": 64, "spec.training.inputs[0].embedding.size": 64,
         "spec.training.task.negatives.count": 64, "spec.training.batchSize": 256, "spec.training.epochs": 60,
         "spec.training.evaluation.everyEpochs": 20, "spec.training.model.dropout": 0.3}


class ExampleOfTriples(Scenario):
    def train(self, source, scorer, **fields):
        output = self.dir / f"run-{pathlib.Path(source).name}-{scorer}"
        fields = {"spec.graph.source.uri": source, "spec.training.task.scorer": scorer} | fields
        sets = [word for name, value in fields.items() for word in ("--set", f"{name}={value}")]
        begin = time.monotonic()
        process = espalier("run", "-f", EXAMPLE, "--output", output, *sets, timeout=1500)
        seconds = time.monotonic() - begin
        self.assertEqual(process.returncode, 0, process.stdout + process.stderr)
        result = json.loads((output / "result.json").read_text())
        print(f"{pathlib.Path(source).name} {scorer}: test MRR {result['testMrr']:.4f} after {seconds:.0f} s", flush=True)
        return result["testMrr"]
