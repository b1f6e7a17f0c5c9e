"""Bad input gives an error with the value, its place and the expected value, the right exit code, and no incomplete
output."""

import gzip
import json
import pathlib
import shutil
import subprocess
import zipfile

import numpy as np

from graph_folders import random_edges, write_npz_graph
from harness import BIN, CORA, Scenario, espalier, job


class BadInput(Scenario):
    def copy_of_cora(self):
        copy = self.dir / "cora"
        shutil.copytree(CORA, copy)
        return copy

    def expect_refusal(self, source, *words, code=65, source_format="OGB"):
        out = self.dir / "imported"
        process = espalier("import", source, "--format", source_format, "--output", out)
        self.assertEqual(process.returncode, code, process.stderr)
        for word in words:
            self.assertIn(word, process.stderr)
        self.assertFalse(out.exists())
        self.assertEqual([p for p in self.dir.iterdir() if "imported" in p.name], [])

    def edit(self, path, change):
        path.write_bytes(gzip.compress(change(gzip.decompress(path.read_bytes()))))

    def test_edge_id_out_of_range(self):
        copy = self.copy_of_cora()
        self.edit(copy / "raw/edge.csv.gz", lambda text: text.replace(b"0,633\n", b"0,2708\n", 1))
        self.expect_refusal(copy, "2708")

    def test_negative_edge_id(self):
        copy = self.copy_of_cora()
        self.edit(copy / "raw/edge.csv.gz", lambda text: text.replace(b"0,633\n", b"0,-1\n", 1))
        self.expect_refusal(copy, "edge.csv.gz:1", "-1")

    def test_ragged_row(self):
        copy = self.copy_of_cora()
        self.edit(copy / "raw/edge.csv.gz", lambda text: text.replace(b"0,633\n", b"0,633,7\n", 1))
        self.expect_refusal(copy, "edge.csv.gz:1")

    def test_truncated_gzip(self):
        copy = self.copy_of_cora()
        edges = copy / "raw/edge.csv.gz"
        edges.write_bytes(edges.read_bytes()[:-100])
        self.expect_refusal(copy, "edge.csv.gz")

    def test_label_count_mismatch(self):
        copy = self.copy_of_cora()
        self.edit(copy / "raw/node-label.csv.gz", lambda text: text[: text.rindex(b"\n", 0, -1) + 1])
        self.expect_refusal(copy, "2707", "2708")

    def test_nan_feature(self):
        graph = self.generate("--nodes", 50, "--edges", 200, "--classes", 2, "--features", 4)
        features = next(graph.rglob("*node-feat*.npy"))
        values = np.load(features)
        values[7, 2] = np.nan
        np.save(features, values)
        self.expect_refusal(graph, "node-feat", "7", source_format="NPY")

    def test_npy_in_other_orders_and_types(self):
        graph = self.generate("--nodes", 50, "--edges", 200, "--classes", 2, "--features", 4)
        features = next(graph.rglob("*node-feat*.npy"))
        values = np.load(features)
        for bad, word in ((np.asfortranarray(values), "ortran"), (values.astype(">f4"), "ndian"),
                          (values.astype(object), "object")):
            np.save(features, bad, allow_pickle=True)
            with self.subTest(word=word):
                self.expect_refusal(graph, features.name, word, source_format="NPY")

    def test_npz_that_is_damaged_or_holds_objects_or_paths(self):
        rng = np.random.default_rng(1)
        graph = write_npz_graph(self.dir / "graph", random_edges(rng, 50, 50, 400), {"node-feat": rng.random((50, 4))})
        archive = graph / "graph.npz"
        good = archive.read_bytes()
        middle = good.index(b"node.node-feat.npy") + 200
        flipped = good[:middle] + bytes([good[middle] ^ 0xFF]) + good[middle + 1:]
        for bad in (flipped, good[: len(good) // 2], b"no zip"):
            archive.write_bytes(bad)
            self.expect_refusal(graph, "graph.npz", source_format="NPY")
        with zipfile.ZipFile(archive, "w") as members:
            members.writestr("../node.node-feat.npy", b"x")
        self.expect_refusal(graph, "graph.npz", "../node.node-feat.npy", source_format="NPY")
        np.savez(archive, **{"node.node-feat": np.array([{}] * 50, dtype=object)})
        self.expect_refusal(graph, "graph.npz", "object", source_format="NPY")

    def test_npy_header_that_promises_terabytes(self):
        graph = self.generate("--nodes", 50, "--edges", 200, "--classes", 2, "--features", 4)
        features = next(graph.rglob("*node-feat*.npy"))
        values = np.load(features)
        with features.open("wb") as file:
            np.lib.format.write_array_header_1_0(
                file, {"descr": "<f4", "fortran_order": False, "shape": (99_999_999_999, 999)})
            file.write(values.tobytes())
        self.expect_refusal(graph, features.name, "promises 399599999996004 bytes of data, the file has 800",
                            source_format="NPY")

    def test_an_empty_graph(self):
        graph = self.dir / "graph"
        graph.mkdir()
        np.save(graph / "edges.npy", np.zeros((2, 0), np.int64))
        (graph / "graph.yaml").write_text("""version: 1
name: empty
nodes:
  - {type: node, count: 0}
edges:
  - {type: "node:to:node", ids: edges.npy}
""")
        self.expect_refusal(graph, "the graph is empty: expected at least one node", source_format="NPY")

    def test_missing_source(self):
        self.expect_refusal(self.dir / "nowhere", "nowhere")

    def test_document_errors_are_listed_with_their_places(self):
        document = job(CORA, "OGB", training__epochs="many", training__modle={})
        process = espalier("run", "-f", self.write_job(document), "--output", self.dir / "run")
        self.assertEqual(process.returncode, 64)
        self.assertIn("spec.training.epochs", process.stderr)
        self.assertIn("modle", process.stderr)
        self.assertIn("job.json:1:", process.stderr)
        self.assertFalse((self.dir / "run" / "result.json").exists())

    def test_unknown_names_are_reported_before_partitioning(self):
        graph = self.generate("--nodes", 500, "--edges", 3000, "--classes", 3, "--features", 4)
        right = self.write_job(job(graph), "right.json")
        wrong = self.write_job(
            job(graph, training__task={"type": "NodeClassification", "label": "node-lable", "split": "public"},
                training__inputs=[{"features": ["node-feat", "size"]}]), "wrong.json")

        def run(document):
            return espalier("run", "-f", document, "--output", self.dir / "run", timeout=240)

        def refuse():
            refused = run(wrong)
            self.assertEqual(refused.returncode, 64, refused.stderr)
            self.assertIn(f"espalier: {wrong}:1:", refused.stderr)
            for words in ("spec.training.task.label: node type 'node' has no column 'node-lable' (did you mean "
                          "'node-label'?); it has: node-feat, node-label",
                          "spec.training.task.split: node type 'node' has no split 'public'; it has: random",
                          "spec.training.inputs[0].features[1]: node type 'node' has no column 'size'"):
                self.assertIn(words, refused.stderr)

        refuse()
        self.assertEqual(list((self.dir / "run").rglob("manifest.json")), [])
        first = run(right)
        self.assertEqual(first.returncode, 0, first.stderr)
        self.assertIn("created 2 partitions in ", first.stderr)
        refuse()  # also if partitions exist that are good for other jobs
        second = run(right)
        self.assertEqual(second.returncode, 0, second.stderr)
        self.assertIn("reused 2 existing partitions: ", second.stderr)
        shown = espalier("inspect", self.dir / "run")
        self.assertIn("500 nodes, 3000 edges, 2 partitions, 1 trainer\n  testAccuracy ", shown.stdout)

    def small_graph(self, name, labels=None, weights=None, split=None, more=None):
        """200 nodes of 3 classes and 2000 edges with weights; `split` replaces files of the split, `more` is the node
        column "more"."""
        rng = np.random.default_rng(5)
        labels = rng.integers(0, 3, 200) if labels is None else labels
        weights = rng.random(2000).astype(np.float32) if weights is None else weights
        features = rng.random((200, 4)).astype(np.float32)
        folder = self.dir / name
        folder.mkdir()
        arrays = {"edges": random_edges(rng, 200, 200, 2000), "label": labels, "feat": features, "w": weights,
                  "train": np.arange(120), "validation": np.arange(120, 160), "test": np.arange(160, 200)}
        arrays.update(split or {})
        if more is not None:
            arrays["more"] = more
        for file, array in arrays.items():
            np.save(folder / f"{file}.npy", array)
        more_columns = "" if more is None else ", more-label: more.npy"
        (folder / "graph.yaml").write_text("""version: 1
name: small
nodes:
  - {type: node, columns: {node-feat: feat.npy, node-label: label.npy""" + more_columns + """}}
edges:
  - {type: "node:to:node", ids: edges.npy, columns: {w: w.npy}}
splits:
  - {name: random, train: train.npy, validation: validation.npy, test: test.npy}
""")
        return folder

    def test_headers_and_values_are_checked_before_partitioning(self):
        labels = np.random.default_rng(5).integers(0, 3, 200)
        weights = np.ones(2000, np.float32)
        negative = weights.copy()
        negative[1234] = -0.5
        unlabeled = labels.copy()
        unlabeled[:120] = -1
        broken = labels.astype(np.float64)
        broken[77] = 1.5
        empty = np.zeros(0, np.int64)
        weighted = {"training__sampling": {"layers": [{"fanout": 5}], "weight": "w"}}
        stopping = {"training__evaluation": {"earlyStopping": {"patience": 2}}}
        cases = {
            "half": (dict(weights=weights.astype(np.float16)), weighted, 64,
                     "spec.training.sampling.weight: column 'w' of edge type 'node:to:node' is F16"),
            "pairs": (dict(weights=np.ones((2000, 2))), weighted, 64, "is F64 [2]: expected one number for each edge"),
            "negative": (dict(weights=negative), weighted, 65,
                         "spec.training.sampling.weight: row 1234 of column 'w' of edge type 'node:to:node' is -0.5"),
            "unlabeled": (dict(labels=unlabeled), {}, 65,
                           "no training node of split 'random' has a label in column 'node-label'"),
            "broken": (dict(labels=broken), {}, 65, "row 77 of column 'node-label' of node type 'node' is 1.5"),
            "wide": (dict(labels=np.zeros((200, 2))), {}, 64, "spec.training.task.label: column 'node-label'"),
            "train-only": (dict(split={"validation": empty, "test": empty}), stopping, 64,
                           "spec.training.evaluation.earlyStopping.patience"),
            "no-train": (dict(split={"train": empty}), {}, 64, "split 'random' has no training nodes"),
        }
        for name, (graph, changes, code, words) in cases.items():
            with self.subTest(name):
                document = self.write_job(job(self.small_graph(name, **graph), **changes))
                refused = espalier("run", "-f", document, "--output", self.dir / "run")
                self.assertEqual(refused.returncode, code, refused.stderr)
                self.assertIn(words, refused.stderr)
                self.assertEqual(list((self.dir / "run").rglob("manifest.json")), [])

    def cut(self, graph, output, **changes):
        """Returns the partitioner's exit code, and its error without the time."""
        document = self.write_job(job(graph, **changes))
        done = subprocess.run([str(BIN / "espalier-partitioner"), "--job", str(document), "--output",
                               str(self.dir / output)], capture_output=True, text=True, timeout=60)
        errors = [line["error"] for line in map(json.loads, done.stderr.splitlines()) if line["level"] == "error"]
        return done.returncode, errors

    def test_a_reused_partitioning_is_refused_as_its_source_is(self):
        negative = np.ones(2000, np.float32)
        negative[1234] = -0.5
        weighted = {"training__sampling": {"layers": [{"fanout": 5}], "weight": "w"}}
        broken = np.zeros(200)
        broken[77] = 1.5
        unlabeled = np.zeros(200, np.int64)
        unlabeled[:120] = -1
        large = np.zeros((200, 2))
        large[99, 1] = 1e300
        relabeled = {"training__task": {"type": "NodeClassification", "label": "more-label", "split": "random"}}
        cases = {
            "negative": (dict(weights=negative), weighted, "row 1234 of column 'w' of edge type 'node:to:node' is -0.5"),
            "zero": (dict(weights=np.zeros(2000)), weighted, "all weights in column 'w' are 0"),
            "broken": (dict(more=broken), relabeled, "row 77 of column 'more-label' of node type 'node' is 1.5"),
            "unlabeled": (dict(more=unlabeled), relabeled, "no training node of split 'random' has a label in column "
                           "'more-label' of node type 'node': all 120 are -1 or NaN"),
            "large": (dict(more=large), {"training__inputs": [{"features": ["node-feat", "more-label"]}]},
                      "row 99 of column 'more-label' of node type 'node', at index 1, is 1e+300: expected a number "
                      "in the range of 32-bit floats"),
        }
        for name, (graph, changes, words) in cases.items():
            with self.subTest(name):
                graph = self.small_graph(name, **graph)
                of_source = self.cut(graph, f"{name}-fresh", **changes)
                self.assertEqual(of_source[0], 65, of_source)
                self.assertIn(words, of_source[1][0])
                self.assertEqual(self.cut(graph, f"{name}-parts"), (0, []))
                self.assertEqual(self.cut(graph, f"{name}-parts", **changes), of_source)
                self.assertEqual(len(list((self.dir / f"{name}-parts").iterdir())), 1, "it was not reused")

    def test_a_probable_mistake_is_one_warning_in_console_and_result(self):
        labels = 100 * np.random.default_rng(5).integers(0, 3, 200)
        labels[120:160] = 0
        evaluation = {"metric": "ROCAUC", "earlyStopping": {"patience": 1}}
        document = job(self.small_graph("graph", labels=labels), training__evaluation=evaluation)
        process = espalier("run", "-f", self.write_job(document), "--output", self.dir / "run", timeout=240)
        self.assertEqual(process.returncode, 0, process.stderr)
        result = json.loads((self.dir / "run/result.json").read_text())
        self.assertIsNone(result["validationRocAuc"])
        classes, metric = result["warnings"]
        self.assertIn("201 outputs, but only 3 classes occur in split 'random' (0, 100, 200)", classes)
        self.assertIn("validationRocAuc is undefined", metric)
        self.assertIn("early stopping has no effect", metric)
        for warning in result["warnings"]:
            self.assertEqual(process.stderr.count("warning: " + warning), 1, process.stderr)

    def partitioned(self):
        graph = self.generate("--nodes", 500, "--edges", 3000, "--classes", 3, "--features", 4)
        process = espalier("partition", graph, "--format", "NPY", "--count", 2, "--output", self.dir / "parts",
                           "--json")
        self.assertEqual(process.returncode, 0, process.stderr)
        return graph, pathlib.Path(json.loads(process.stdout)["uri"].removeprefix("file://"))

    def test_a_flipped_bit_and_a_short_file_are_found(self):
        document = job(self.generate("--nodes", 500, "--edges", 3000, "--classes", 3, "--features", 4))
        self.run_job(document)
        parts = self.dir / "run/partitions"
        victim = next(parts.rglob("graph.safetensors"))
        good = victim.read_bytes()
        middle = len(good) // 2
        for bad in (good[:-1], good[:middle] + bytes([good[middle] ^ 1]) + good[middle + 1:]):
            victim.write_bytes(bad)
            verified = espalier("verify", parts)
            self.assertEqual(verified.returncode, 65)
            self.assertIn("graph.safetensors", verified.stdout + verified.stderr)
            again = espalier("run", "-f", self.write_job(document), "--output", self.dir / "run")
            self.assertEqual(again.returncode, 65, again.stderr)
            self.assertIn("graph.safetensors", again.stdout + again.stderr)
            self.assertFalse((self.dir / "run/result.json").exists())

    def test_a_manifest_of_another_version(self):
        _, parts = self.partitioned()
        manifest = json.loads((parts / "manifest.json").read_text())
        manifest["format_version"] = 99
        (parts / "manifest.json").write_text(json.dumps(manifest))
        process = espalier("inspect", parts)
        self.assertEqual(process.returncode, 65)
        self.assertIn("99", process.stderr)
