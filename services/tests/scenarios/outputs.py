"""Reads the outputs of a run as a user does: with numpy, safetensors and TensorBoard's own reader."""

import json

import numpy as np
from safetensors import safe_open
from safetensors.numpy import load_file, save_file
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from harness import CORA, Scenario, espalier, job


def cora(**changes):
    return job(CORA, "OGB", **{
        "graph__preprocess": {"normalizeFeatures": "Row"},
        "training__task": {"type": "NodeClassification", "label": "node-label", "split": "public"},
        "training__model": {"type": "GraphSAGE", "aggregator": "Mean", "hiddenSize": 16, "dropout": 0.5},
        "training__batchSize": 140, "training__epochs": 8,
        "output__save": ["Model", "Embeddings", "Predictions"], **changes})


def by_id(folder, count=2708):
    """Returns the values of a node type in the order of original ids."""
    ids, values = np.load(folder / "ids.npy"), np.load(folder / "values.npy")
    assert sorted(ids.tolist()) == list(range(count))
    ordered = np.empty_like(values)
    ordered[ids] = values
    return ordered


class Outputs(Scenario):
    def test_all_outputs_open_in_python(self):
        result = self.run_job(cora(trainers={"replicas": 2, "threads": 1}))
        out = self.dir / "run"
        manifest = json.loads((out / "manifest.json").read_text())
        self.assertEqual(manifest["format"], "espalier.outputs")
        self.assertEqual(manifest["result"]["parametersDigest"], result["parametersDigest"])
        self.assertFalse((out / "results").exists())
        files = {entry["key"]: entry for entry in manifest["files"]}
        for key, entry in files.items():
            self.assertEqual((out / key).stat().st_size, entry["size_bytes"], key)
            if key.endswith(".npy"):
                self.assertEqual(list(np.load(out / key, mmap_mode="r").shape), entry["shape"], key)

        for name in ("best", "last"):
            self.assertIn(f"model/{name}.safetensors", files)
            with safe_open(out / f"model/{name}.safetensors", framework="np") as model:
                self.assertEqual(model.metadata()["hiddenSize"], "16")
                self.assertTrue(all(np.isfinite(model.get_tensor(tensor)).all() for tensor in model.keys()))
        self.assertNotIn("model/best.pt", files)
        self.assertIn("add TorchScript to spec.output.save", result["notWritten"]["model/best.pt"])
        self.assertEqual(by_id(out / "embeddings/node").shape, (2708, 16))
        logits = by_id(out / "logits/node")
        self.assertTrue((logits.argmax(axis=1) == by_id(out / "predictions/node")).all())

        history = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
        self.assertEqual([line["epoch"] for line in history], list(range(8)))
        events = EventAccumulator(str(out / "tensorboard"))
        events.Reload()
        self.assertLessEqual({"train/loss", "train/learning_rate", "validation/accuracy", "seconds/total",
                              "seconds/compute"}, set(events.Tags()["scalars"]))
        loss = events.Scalars("train/loss")
        steps = result["stepsPerEpoch"]
        self.assertEqual([event.step for event in loss], [steps * (epoch + 1) for epoch in range(8)])
        np.testing.assert_allclose([event.value for event in loss], [line["loss"] for line in history], rtol=1e-6)
        np.testing.assert_allclose([event.value for event in events.Scalars("validation/accuracy")],
                                   [line["validationAccuracy"] for line in history], rtol=1e-6)

        self.seconds_add_up(history, events)

        self.assertEqual(espalier("verify", out).returncode, 0)
        with open(out / "predictions/node/values.npy", "r+b") as values:
            values.seek(-1, 2)
            values.write(b"\x55")
        verified = espalier("verify", out)
        self.assertEqual(verified.returncode, 65, verified.stderr)
        self.assertIn("predictions/node/values.npy", verified.stderr)

    def seconds_add_up(self, history, events):
        """Expects that all outputs have equal seconds for each stage of an epoch, and that their sum is at most the
        epoch's time."""
        in_turn = ("wait", "compute", "communicate", "evaluate")  # stages of one thread, one after another
        lines = (self.dir / "run/logs/trainer-0.log").read_text().splitlines()
        logged = [line for line in (json.loads(text) for text in lines if text.startswith("{"))
                  if line.get("message") == "epoch"]
        self.assertEqual([line["epoch"] for line in logged], [line["epoch"] for line in history])
        for line, log in zip(history, logged):
            self.assertEqual(set(line["secondsSplit"]), {"sample", "fetch", *in_turn})
            for part, seconds in line["secondsSplit"].items():
                self.assertGreater(seconds, 0, part)
                self.assertAlmostEqual(log[part], seconds, delta=1e-3 * seconds + 1e-6, msg=part)
            self.assertAlmostEqual(log["seconds"], line["seconds"], delta=1e-3 * line["seconds"])
            self.assertLessEqual(sum(line["secondsSplit"][part] for part in in_turn), 1.001 * line["seconds"])
        for part in history[0]["secondsSplit"]:
            np.testing.assert_allclose([event.value for event in events.Scalars("seconds/" + part)],
                                       [line["secondsSplit"][part] for line in history], rtol=1e-5)

    def test_chosen_nodes_keep_the_order_in_which_they_were_chosen(self):
        chosen = self.dir / "chosen"
        chosen.mkdir()
        np.save(chosen / "node.npy", np.array([2700, 3, 17, 0], dtype=np.int64))
        self.run_job(cora(training__epochs=2), "all")
        self.run_job(cora(training__epochs=2, output__nodesUri=str(chosen)), "some")
        for kind in ("embeddings", "predictions", "logits"):
            folder = self.dir / "some" / kind / "node"
            self.assertEqual(np.load(folder / "ids.npy").tolist(), [2700, 3, 17, 0])
            whole = by_id(self.dir / "all" / kind / "node")
            np.testing.assert_array_equal(np.load(folder / "values.npy"), whole[[2700, 3, 17, 0]])

        np.save(chosen / "node.npy", np.array([2708]))
        path = self.write_job(cora(output__nodesUri=str(chosen)), "bad.json")
        refused = espalier("run", "-f", path, "--output", self.dir / "bad")
        self.assertEqual(refused.returncode, 65, refused.stderr)
        self.assertIn("spec.output.nodesUri", refused.stderr)
        self.assertIn("id 2708 at row 0", refused.stderr)

    def test_a_model_of_one_layer_reports_missing_embeddings(self):
        result = self.run_job(cora(training__epochs=1, training__sampling={"layers": [{"fanout": 5}]}))
        self.assertIn("one layer", result["notWritten"]["embeddings"])
        self.assertFalse((self.dir / "run/embeddings").exists())
        self.assertTrue((self.dir / "run/predictions/node/values.npy").exists())


class Inference(Scenario):
    """Tests jobs without training, which have epochs 0 and the URI of a model."""

    def infer(self, uri, name="inferred", **changes):
        model = dict(cora()["spec"]["training"]["model"], uri=str(uri), **changes.pop("model", {}))
        return cora(training__epochs=0, training__model=model, **changes), name

    def test_inference_reproduces_the_training_run(self):
        trained = self.run_job(cora(), "trained")
        uri = self.dir / "trained/model/best.safetensors"
        inferred = self.run_job(*self.infer(uri, graph__partitions={"count": 3, "algorithm": "Random"},
                                            trainers={"replicas": 2, "threads": 1}))
        for key in ("testAccuracy", "validationAccuracy", "parametersDigest"):
            self.assertEqual(inferred[key], trained[key], key)
        self.assertEqual(inferred["epochs"], 0)
        self.assertEqual(inferred["startedFrom"], str(uri))
        for kind in ("embeddings", "predictions", "logits"):
            np.testing.assert_array_equal(by_id(self.dir / "inferred" / kind / "node"),
                                          by_id(self.dir / "trained" / kind / "node"), kind)

    def test_training_may_start_from_a_model(self):
        first = self.run_job(cora(), "first")
        document, _ = self.infer(self.dir / "first/model/last.safetensors")
        document["spec"]["training"]["epochs"] = 8
        second = self.run_job(document, "second")
        self.assertLess(second["lossPerEpoch"][0], first["lossPerEpoch"][0])
        self.assertNotEqual(second["parametersDigest"], first["parametersDigest"])

    def test_a_mismatched_model_is_reported(self):
        self.run_job(cora(training__epochs=1), "trained")
        uri = self.dir / "trained/model/best.safetensors"

        def refused(document, name):
            path = self.write_job(document, name + ".json")
            process = espalier("run", "-f", path, "--output", self.dir / name)
            self.assertEqual(process.returncode, 65, process.stdout + process.stderr)
            return process.stderr

        self.assertIn("spec.training.model.hiddenSize is '32', but the model in",
                      refused(*self.infer(uri, "wider", model={"hiddenSize": 32})))
        self.assertIn("spec.training.model.aggregator",
                      refused(*self.infer(uri, "pool", model={"aggregator": "Pool"})))
        self.assertIn("nowhere.safetensors", refused(*self.infer(self.dir / "nowhere.safetensors", "nowhere")))
        save_file(load_file(uri), self.dir / "foreign.safetensors")
        self.assertIn("is not an Espalier model file", refused(*self.infer(self.dir / "foreign.safetensors", "foreign")))
