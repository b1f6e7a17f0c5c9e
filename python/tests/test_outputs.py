"""Tests embeddings and predictions that Python writes: the files have the layout of those of a job's trainers, by ids
of the input graph."""

import json
import os
import sys
import unittest
import unittest.mock

import numpy as np

import espalier as ep
import graphs

sys.path.append(str(graphs.SOURCE / "services/tests/scenarios"))
import s3_gateway

COLUMNS = 3


def setUpModule():
    global folder, publications
    folder = graphs.make_folder()
    publications = graphs.open_publications(folder)[1]


def by_original_id(count, width=COLUMNS, dtype=np.float32):
    """Returns rows; row i belongs to the node with original id i."""
    return np.random.default_rng(7).normal(size=(count, width)).astype(dtype) * 10


def tensor_of(g, ntype, rows):
    tensor = ep.DistTensor.create(g, rows.shape[1:], rows.dtype, ntype=ntype)
    tensor[g.to_global_ids(np.arange(len(rows)), ntype)] = rows
    return tensor


def files_of(output, kind):
    """Returns ({name: bytes} of the folder of a kind, the manifest of the folder)."""
    found = {str(path.relative_to(output / kind)): path.read_bytes() for path in (output / kind).rglob("*.npy")}
    return found, json.loads((output / kind / "manifest.json").read_text())


class OutputsTest(unittest.TestCase):
    def setUp(self):
        self.uri = folder / self.id().rpartition(".")[2]

    def verify(self):
        process = graphs.espalier("verify", self.uri)
        self.assertEqual(process.returncode, 0, process.stdout + process.stderr)

    def manifest(self):
        return json.loads((self.uri / "manifest.json").read_text())

    def refused(self, words, call, *arguments, error=ep.InvalidArgument, **options):
        with self.assertRaisesRegex(error, words):
            call(*arguments, uri=self.uri, **options)

    def test_files_match_those_of_a_job(self):
        job = {"apiVersion": "espalier.io/v1alpha1", "kind": "DistTraining", "metadata": {"name": "cora"}, "spec": {
            "graph": {"source": {"uri": str(graphs.CORA), "format": "OGB"}, "partitions": {"count": 2}},
            "training": {"task": {"type": "NodeClassification", "label": "node-label", "split": "public"},
                         "inputs": [{"features": ["node-feat"]}], "model": {"type": "GraphSAGE", "hiddenSize": 16},
                         "sampling": {"layers": [{"fanout": 5}, {"fanout": 5}]}, "batchSize": 64, "epochs": 1},
            "output": {"save": ["Embeddings", "Predictions"]}}}
        results = ep.run(job, folder / "cora", progress=False)
        g = ep.DistGraph(results.partitions)
        attributes = files_of(results.folder, "embeddings")[1]["attributes"]
        embeddings = tensor_of(g, "node", results.embeddings()[1])
        logits = tensor_of(g, "node", results.logits()[1])
        ep.write_embeddings(g, embeddings, uri=self.uri, attributes=attributes)
        ep.write_predictions(g, logits, uri=self.uri, attributes=attributes)

        mine = ep.Results(self.uri)
        for kind in ("embeddings", "predictions", "logits"):
            written = self.uri / "results/000001"
            self.assertEqual(files_of(written, kind), files_of(results.folder, kind))
            for found, expected in zip(getattr(mine, kind)(), getattr(results, kind)()):
                np.testing.assert_array_equal(found, expected)
        self.assertEqual([(file["kind"], file["key"].partition("/000001/")[2], file["size_bytes"], file["xxh3_64"])
                          for file in self.manifest()["files"]],
                         [(file["kind"], file["key"], file["size_bytes"], file["xxh3_64"])
                          for file in json.loads((results.folder / "manifest.json").read_text())["files"]
                          if file["kind"] in ("embeddings", "predictions", "logits")])
        self.assertEqual(mine.result, {"graph": g.name})
        with self.assertRaisesRegex(ep.NotFound, "names no partitions"):
            mine.partitions
        self.verify()

        # Writes into the job's own folder. Other outputs of the job are kept.
        self.uri = results.folder
        before = self.manifest()
        ep.write_embeddings(g, embeddings, uri=self.uri)
        self.assertEqual(self.manifest()["result"], before["result"])
        self.assertEqual({file["kind"] for file in self.manifest()["files"]}, {file["kind"] for file in before["files"]})
        self.assertEqual(ep.Results(self.uri).result, results.result)
        self.verify()

    def test_types_and_partitionings(self):
        rows = {"author": by_original_id(graphs.AUTHORS), "paper": by_original_id(graphs.PAPERS, 5, np.float64)}
        for count, g in publications.items():
            with self.subTest(count):
                tensors = {name: tensor_of(g, name, values) for name, values in rows.items()}
                ep.write_embeddings(g, tensors, uri=self.uri)
                for name, values in rows.items():
                    ids, found = ep.Results(self.uri).embeddings(name)
                    np.testing.assert_array_equal(ids, np.arange(len(values)))
                    np.testing.assert_array_equal(found, values)
                    self.assertEqual(found.dtype, values.dtype)
                self.verify()

    def test_chosen_nodes_in_their_order(self):
        g, rows = publications[2], by_original_id(graphs.PAPERS)
        chosen = np.random.default_rng(1).permutation(graphs.PAPERS)[:50]
        for nodes in (chosen, {"paper": chosen.tolist()}):
            ep.write_predictions(g, {"paper": tensor_of(g, "paper", rows)}, nodes=nodes, uri=self.uri)
            ids, classes = ep.Results(self.uri).predictions()
            np.testing.assert_array_equal(ids, chosen)
            np.testing.assert_array_equal(classes, rows[chosen].argmax(axis=1))
        both = {name: tensor_of(g, name, by_original_id(g.num_nodes(name))) for name in g.ntypes}
        ep.write_embeddings(g, both, nodes={"author": [3]}, uri=self.uri)
        self.assertEqual(ep.Results(self.uri).embeddings()[0].tolist(), [3])

    def test_decisions(self):
        g, rows = publications[2], by_original_id(graphs.PAPERS)
        tensor = tensor_of(g, "paper", rows)
        for task, expected in (("multilabel", (rows > 0).astype(np.uint8)), ("classification", rows.argmax(axis=1)),
                               ("regression", rows)):
            ep.write_predictions(g, tensor, task=task, uri=self.uri)
            _, found = ep.Results(self.uri).predictions()
            np.testing.assert_array_equal(found, expected)
            self.assertEqual(found.dtype, expected.dtype)
            kinds = {"predictions"} if task == "regression" else {"predictions", "logits"}
            self.assertEqual({file["kind"] for file in self.manifest()["files"]}, kinds)

    def test_a_kind_that_is_written_again_replaces_its_files(self):
        g = publications[3]
        both = {name: tensor_of(g, name, by_original_id(g.num_nodes(name))) for name in g.ntypes}
        ep.write_embeddings(g, both, uri=self.uri)
        ep.write_predictions(g, both["paper"], task="regression", uri=self.uri)
        ep.write_embeddings(g, both["paper"], uri=self.uri)
        self.assertFalse((self.uri / "results/000001/embeddings/author/values.npy").exists())
        self.assertEqual({file["kind"] for file in self.manifest()["files"]}, {"embeddings", "predictions"})
        self.verify()

    def test_a_result_of_the_program_is_kept(self):
        g, own = publications[2], '{"testAccuracy": 0.5}'
        self.uri.mkdir()
        (self.uri / "result.json").write_text(own)
        ep.write_embeddings(g, tensor_of(g, "paper", by_original_id(graphs.PAPERS)), uri=self.uri)
        self.assertEqual((self.uri / "result.json").read_text(), own)

    def test_a_newer_incarnation_is_not_replaced(self):
        g = publications[2]
        tensor = tensor_of(g, "paper", by_original_id(graphs.PAPERS))
        ep.write_embeddings(g, tensor, uri=self.uri)
        manifest = self.uri / "manifest.json"
        newer = manifest.read_text().replace('"incarnation": 1', '"incarnation": 4')
        manifest.write_text(newer)
        self.refused("incarnation 4 has committed its outputs to this location", ep.write_embeddings, g, tensor,
                     error=ep.FailedPrecondition)
        self.assertEqual(manifest.read_text(), newer)

    def test_refusals(self):
        g = publications[2]
        tensor = tensor_of(g, "paper", by_original_id(graphs.PAPERS))
        self.refused("a DistTensor or a DistEmbedding, not ndarray", ep.write_embeddings, g, np.zeros((3, 3)))
        self.refused("there are no rows", ep.write_embeddings, g, {})
        self.refused("has rows of 'paper', not of 'author'", ep.write_embeddings, g, {"author": tensor})
        self.refused("are not of nodes", ep.write_embeddings, g, ep.DistTensor.create(g, (4, 3)))
        self.refused("id 120 at row 1 .* ids 0 to 120 - 1", ep.write_embeddings, g, tensor, nodes=[0, 120])
        self.refused("id 3 is given twice", ep.write_embeddings, g, tensor, nodes=[3, 4, 3])
        self.refused("nodes of 'author' have no rows", ep.write_embeddings, g, tensor, nodes={"author": [0]})
        self.refused("task must be 'classification'", ep.write_predictions, g, tensor, task="ranking")
        labels = ep.DistTensor.create(g, (), np.int64, ntype="paper")
        self.refused(r"outputs of 'paper' are int64 \[120\]", ep.write_predictions, g, labels)
        nothing = ep.DistTensor.create(g, (0,), np.float32, ntype="paper")
        self.refused(r"outputs of 'paper' are float32 \[120, 0\]", ep.write_predictions, g, nothing)
        with self.assertRaisesRegex(ep.InvalidArgument, "no job has set ESPALIER_OUTPUT"):
            ep.write_embeddings(g, tensor)
        self.assertFalse(self.uri.exists())


@unittest.skipUnless(os.environ.get("ESPALIER_VERSITYGW"), "needs versitygw: -DESPALIER_VERSITYGW")
class Bucket(unittest.TestCase):
    def test_outputs_in_a_bucket(self):
        store, address = folder / "store", f"127.0.0.1:{graphs.closed_port()}"
        (store / "bucket").mkdir(parents=True)
        s3_gateway.start(self, store, address, "secret")
        settings = {**s3_gateway.keys("secret"), "AWS_ENDPOINT_URL": f"http://{address}",
                    "AWS_REGION": s3_gateway.REGION}
        g, rows = publications[2], by_original_id(graphs.PAPERS)
        with unittest.mock.patch.dict(os.environ, settings):
            for _ in range(2):  # the second call replaces the outputs of the first
                ep.write_embeddings(g, tensor_of(g, "paper", rows), uri="s3://bucket/jobs/one")
            verified = graphs.espalier("verify", "s3://bucket/jobs/one")
        self.assertEqual(verified.returncode, 0, verified.stdout + verified.stderr)
        np.testing.assert_array_equal(ep.Results(store / "bucket/jobs/one").embeddings()[1], rows)


class Ranks(unittest.TestCase):
    def test_ranks_of_a_job(self):
        output = folder / "ranks"
        sets = [word for setting in (f"graph.source.uri={graphs.CORA}", "graph.source.format=OGB",
                                     "graph.partitions.count=2", "trainers.replicas=2", "runPolicy.backoffLimit=0")
                for word in ("--set", setting)]
        for incarnation in (1, 2):  # in the same folder
            process = graphs.espalier("run", *sets, "--output", output, "--quiet", "--", sys.executable,
                                      graphs.SCRIPTS / "ranks.py", "outputs")
            logs = "".join(log.read_text() for log in sorted((output / "logs").glob("trainer-*.log")))
            self.assertEqual(process.returncode, 0, process.stdout + process.stderr + logs)
            results = ep.Results(output)
            self.assertEqual(results.result["incarnation"], incarnation)
            self.assertEqual([path.name for path in (output / "results").iterdir()], [f"{incarnation:06}"])
        ids, values = results.embeddings()
        np.testing.assert_array_equal(ids, np.arange(2708))
        np.testing.assert_array_equal(values, np.outer(ids, [1, -1, 2]).astype(np.float32))
        np.testing.assert_array_equal(results.predictions()[1], values.argmax(axis=1))
        np.testing.assert_array_equal(results.logits()[1], values)
        self.assertEqual(graphs.espalier("verify", output).returncode, 0)


if __name__ == "__main__":
    unittest.main()
