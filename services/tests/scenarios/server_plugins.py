"""Tests plugins of graph servers: a plugin that the job names, a program that calls it, and rows that it
initializes."""

import collections
import json

import numpy as np

from graph_folders import random_edges, write_npz_graph
from harness import BIN, Scenario, espalier, job

PLUGIN = BIN / "espalier_example_degrees.so"
ROWS = BIN / "espalier_example_rows.so"
PROGRAM = BIN / "espalier_example_ask_degrees"
NODES, EDGES = 2000, 20000


class ServerPlugins(Scenario):
    def setUp(self):
        super().setUp()
        rng = np.random.default_rng(5)
        self.edges = random_edges(rng, NODES, NODES, EDGES)
        self.features = rng.standard_normal((NODES, 4)).astype(np.float32)
        self.graph = write_npz_graph(self.dir / "graph", self.edges, {"node-feat": self.features})

    def ask(self, name, plugins, partitions=2, flags=()):
        document = {"apiVersion": "espalier.io/v1alpha1", "kind": "DistTraining", "metadata": {"name": "plugins"},
                    "spec": {"graph": {"source": {"uri": str(self.graph), "format": "NPY"},
                                       "partitions": {"count": partitions, "algorithm": "METIS"}},
                             "servers": {"plugins": plugins}, "trainers": {"replicas": 1, "threads": 1}}}
        path = self.write_job(document, name + ".json")
        return espalier("run", "-f", path, "--output", self.dir / name, *flags, "--", PROGRAM, timeout=240)

    def check_answers(self, name, process):
        self.assertEqual(process.returncode, 0, process.stdout + process.stderr)
        result = json.loads((self.dir / name / "result.json").read_text())
        degrees = np.bincount(self.edges[1], minlength=NODES)
        wanted = collections.Counter(str(degree) for degree in degrees.tolist())
        self.assertEqual(result["nodesByInDegree"], wanted)
        largest = sorted(range(NODES), key=lambda node: (-self.features[node, 0], node))[:5]
        self.assertEqual([row["id"] for row in result["largest"]], largest)
        for row in result["largest"]:
            self.assertEqual(np.float32(row["value"]), self.features[row["id"], 0])

    def test_a_program_calls_the_plugin_on_every_partition(self):
        plugins = [{"name": "degrees", "path": str(PLUGIN)}]
        self.check_answers("two", self.ask("two", plugins))
        self.check_answers("three", self.ask("three", plugins, partitions=3, flags=("--access", "rpc", "--tls")))

    def test_an_invalid_plugin_is_named_before_the_server_starts(self):
        text = self.dir / "text.so"
        text.write_text("no library")
        # (file, exit code of the run, text in its error)
        cases = [(self.dir / "none.so", 64, "none.so"), (text, 65, "it cannot be loaded"),
                 (BIN / "espalier_test_no_plugin.so", 65, "exports none of espalier_plugin_v3, espalier_plugin_v2"),
                 (BIN / "espalier_test_plugin_of_version_99.so", 65, "built for version 99")]
        for number, (path, code, words) in enumerate(cases):
            with self.subTest(path=path.name):
                process = self.ask(f"case-{number}", [{"name": "degrees", "path": str(path)}])
                self.assertEqual(process.returncode, code, process.stderr)
                self.assertIn("plugin 'degrees'", process.stderr)
                self.assertIn(words, process.stderr)

    def test_an_unknown_function_error_lists_the_functions(self):
        process = self.ask("other", [{"name": "other", "path": str(PLUGIN)}])
        self.assertEqual(process.returncode, 64, process.stderr)
        self.assertIn("no function 'degrees/in_degrees'", process.stderr)
        self.assertIn("'other/in_degrees'", process.stderr)


class RowsOfAPlugin(Scenario):
    def setUp(self):
        super().setUp()
        self.graph = self.generate("--nodes", 1500, "--edges", 15000, "--communities", 15, "--classes", 3,
                                   "--features", 4, "--seed", 3)

    def document(self, plugin="rows/sinusoids", arguments="100", partitions=2):
        embedding = {"size": 8, "initializer": {"type": "Plugin", "plugin": plugin, "arguments": arguments}}
        return job(self.graph, training__inputs=[{"features": ["node-feat"], "embedding": embedding}],
                   graph__partitions={"count": partitions, "algorithm": "METIS"},
                   servers={"plugins": [{"name": "rows", "path": str(ROWS)}]})

    def test_learnable_rows_start_equal_for_any_partitioning(self):
        one = self.run_job(self.document(partitions=1), "one")
        three = self.run_job(self.document(partitions=3), "three", "--access", "rpc")
        other = self.run_job(self.document(arguments="10"), "other")
        self.assertEqual(len(one["learnableRowsDigest"]), 64)
        for digest in ("learnableRowsDigest", "parametersDigest"):
            self.assertEqual(three[digest], one[digest])
            self.assertNotEqual(other[digest], one[digest])

    def test_an_invalid_initializer_ends_the_job(self):
        # (initializer in the document, exit code of the run, text in its error)
        cases = [(dict(plugin="rows/none"), 64, "no initializer 'rows/none'; there are 'rows/sinusoids'"),
                 (dict(arguments="many"), 65, "expected a number above 1, found 'many'"),
                 (dict(plugin="none/sinusoids"), 64, "plugin of spec.servers.plugins, found 'none/sinusoids'")]
        for number, (changes, code, words) in enumerate(cases):
            with self.subTest(**changes):
                path = self.write_job(self.document(**changes), f"case-{number}.json")
                process = espalier("run", "-f", path, "--output", self.dir / f"case-{number}", timeout=240)
                self.assertEqual(process.returncode, code, process.stdout + process.stderr)
                self.assertIn(words, process.stderr)
