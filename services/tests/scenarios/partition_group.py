"""Tests one partitioning by several espalier-partitioner processes, with little memory each, or with processes that are
killed or missing."""

import gzip
import json
import os
import pathlib
import resource
import subprocess

import numpy as np

from graph_folders import random_edges
from harness import BIN, CORA, SOURCE, Scenario, espalier, job

TRIPLES_JOB = SOURCE / "services/examples/fb15k-237.yaml"
EDGES, NODES, FEATURES = 8_000_000, 300_000, 128
# Stack of the admin port's thread: the limit counts all of it, although the thread uses little.
STACK = 8 << 20


class PartitionGroup(Scenario):
    def partitioner(self, document, output, *flags, rank=None, size=4, group="try-1", memory=None, environment=None):
        """Starts a process, as a member of a group if `rank` is given. `memory`: limit of the bytes that it
        allocates."""
        if rank is not None:
            flags = [*flags, "--rank", rank, "--world-size", size, "--group", group]
        limit = None
        if memory is not None:
            def limit():
                resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
        process = subprocess.Popen(
            [str(BIN / "espalier-partitioner"), "--job", str(document), "--output", str(self.dir / output), "--threads",
             "1", "--data-dir", str(self.dir / "cache"), "--json", *map(str, flags)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=limit,
            # Freed memory returns to the system, so that the limit counts only memory in use.
            env={"PATH": "/usr/bin:/bin", "HOME": str(self.dir), "MALLOC_ARENA_MAX": "1", **(environment or {})})
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def ended(self, process, timeout=400):
        """Waits for the end of the process. Returns its exit code, report and log."""
        out, log = process.communicate(timeout=timeout)
        return process.returncode, out, log

    def report(self, process):
        code, out, log = self.ended(process)
        self.assertEqual(code, 0, log)
        return json.loads(out)

    def assert_same_files(self, one, other):
        names = [{path.relative_to(next(pathlib.Path(uri).glob("attempt-*"))): path
                  for path in pathlib.Path(uri).rglob("*.safetensors")} for uri in (one, other)]
        self.assertEqual(set(names[0]), set(names[1]))
        self.assertGreater(len(names[0]), 4)
        for name, path in names[0].items():
            self.assertEqual(path.read_bytes(), names[1][name].read_bytes(), name)

    def test_four_processes_with_a_third_of_the_graphs_memory_each_write_what_one_writes(self):
        graph = self.generate("--nodes", NODES, "--edges", EDGES, "--features", FEATURES)
        graph_bytes = sum(path.stat().st_size for path in graph.rglob("*") if path.is_file())
        document = self.write_job(job(graph, graph__partitions={"count": 16, "algorithm": "Streaming"}))
        third = graph_bytes // 3 + STACK

        alone = self.report(self.partitioner(document, "alone"))
        code, _, _ = self.ended(self.partitioner(document, "too-little", memory=third))
        self.assertNotEqual(code, 0, "one process has enough with a third: the limit shows nothing")

        processes = [self.partitioner(document, "group", rank=rank, memory=third) for rank in range(4)]
        reports = [self.report(process) for process in processes]
        for made in reports:
            self.assertFalse(made["reused"])
            for field in ("partitionKey", "cutEdges", "cutRatio", "replication", "balance", "nodes", "edges"):
                self.assertEqual(made[field], alone[field], field)
        self.assert_same_files(reports[0]["uri"], alone["uri"])
        verified = espalier("verify", reports[0]["uri"], "--source", graph, "--format", "NPY", timeout=400)
        self.assertEqual(verified.returncode, 0, verified.stdout + verified.stderr)

    def write_text_graph(self, nodes, width, edges):
        """Writes OGB's raw CSV, uncompressed, with digits as features."""
        folder = self.dir / "text"
        (folder / "raw").mkdir(parents=True)
        rng = np.random.default_rng(1)
        rows = [",".join(map(str, row)) + "\n" for row in rng.integers(0, 10, (64, width))]
        with (folder / "raw/node-feat.csv").open("w") as file:
            for start in range(0, nodes, 64):
                file.writelines(rows[:min(64, nodes - start)])
        ends = random_edges(rng, nodes, nodes, edges)
        (folder / "raw/edge.csv").write_text("".join(f"{u},{v}\n" for u, v in ends.T.tolist()))
        (folder / "raw/num-node-list.csv").write_text(f"{nodes}\n")
        (folder / "raw/num-edge-list.csv").write_text(f"{edges}\n")
        return folder

    def test_three_processes_with_a_third_of_the_graphs_memory_each_read_its_text(self):
        nodes, width, edges = 200_000, 256, 600_000
        graph = self.write_text_graph(nodes, width, edges)
        third = (nodes * width * 4 + edges * 8) // 3 + STACK  # a third of the arrays
        document = job(graph, "OGB", graph__partitions={"count": 32, "algorithm": "Streaming"},
                       graph__preprocess={"normalizeFeatures": "Row"})
        del document["spec"]["training"]  # the graph has neither labels nor splits
        document = self.write_job(document)
        alone = self.report(self.partitioner(document, "alone"))
        code, _, _ = self.ended(self.partitioner(document, "too-little", memory=third))
        self.assertNotEqual(code, 0, "one process has enough with a third: the limit shows nothing")

        processes = [self.partitioner(document, "group", rank=rank, size=3, memory=third) for rank in range(3)]
        reports = [self.report(process) for process in processes]
        for field in ("partitionKey", "cutEdges", "replication", "balance", "nodes", "edges"):
            self.assertEqual(reports[0][field], alone[field], field)
        self.assert_same_files(reports[0]["uri"], alone["uri"])

    def test_three_processes_partition_gzip_triples_like_one(self):
        """The job adds reverse edges and holds out triples."""
        rng = np.random.default_rng(2)
        folder = self.dir / "triples"
        folder.mkdir()
        for name, count in (("train", 4000), ("valid", 300), ("test", 300)):
            ends = random_edges(rng, 700, 700, count).T.tolist()
            relations = rng.integers(0, 5, count).tolist()
            with gzip.open(folder / f"{name}.txt.gz", "wt") as file:
                file.writelines(f"/m/{u}\t/is/{r}\t/m/{v}\n" for (u, v), r in zip(ends, relations))
        fields = {"source.uri": folder, "partitions.count": 3, "partitions.algorithm": "Streaming"}
        sets = [word for name, value in fields.items() for word in ("--set", f"spec.graph.{name}={value}")]
        alone = self.report(self.partitioner(TRIPLES_JOB, "alone", *sets))
        processes = [self.partitioner(TRIPLES_JOB, "group", *sets, rank=rank, size=3) for rank in range(3)]
        reports = [self.report(process) for process in processes]
        self.assert_same_files(reports[0]["uri"], alone["uri"])
        self.assertEqual(list((self.dir / "cache").rglob(".espalier-scratch-*")), [])

    def test_a_run_of_gzip_text_with_three_partitioners_trains_as_with_one(self):
        """The partitioners normalize Cora's features."""
        reports = [self.run_job(job(CORA, "OGB", graph__partitions={"count": 2, "algorithm": "Streaming"},
                                    graph__preprocess={"normalizeFeatures": "Row", "addReverseEdges": True},
                                    training__task__split="public", partitioner__replicas=replicas), name)
                   for replicas, name in ((1, "one"), (3, "three"))]
        self.assert_same_files(self.partitions_of("three"), self.partitions_of("one"))
        for field in ("partitionKey", "testAccuracy", "parametersDigest"):
            self.assertEqual(reports[0][field], reports[1][field], field)

    def test_a_killed_process_resumes_after_its_restart(self):
        graph = self.generate("--nodes", 3000, "--edges", 20000)
        document = self.write_job(job(graph, graph__partitions={"count": 4, "algorithm": "Streaming"}))
        alone = self.report(self.partitioner(document, "alone"))
        others = [self.partitioner(document, "group", rank=rank) for rank in (0, 1, 3)]
        for commit in (3, 2, 1):
            killed = self.partitioner(document, "group", rank=2,
                                      environment={"ESPALIER_FAILPOINTS": f"store.put_if_absent=crash@{commit}"})
            self.assertEqual(self.ended(killed)[0], -9)
        reports = [self.report(process) for process in [*others, self.partitioner(document, "group", rank=2)]]
        for made in reports:
            self.assertEqual(made["cutEdges"], alone["cutEdges"])
        self.assert_same_files(reports[0]["uri"], alone["uri"])
        self.assertEqual(list(pathlib.Path(reports[0]["uri"]).glob("attempt-*/exchange/*")), [])

    def test_a_missing_or_silent_process_is_named(self):
        graph = self.generate("--nodes", 500, "--edges", 3000)
        document = self.write_job(job(graph, graph__partitions={"count": 4, "algorithm": "Streaming"}))
        for output, what, start, environment in (
                ("missing", "has sent no heartbeat yet", 2, None),
                ("silent", "sends no heartbeat", 60, {"ESPALIER_FAILPOINTS": "store.put_if_absent=crash@2"})):
            timeouts = ["--start-timeout-seconds", start, "--peer-timeout-seconds", 5]
            processes = [self.partitioner(document, output, *timeouts, rank=rank, size=3) for rank in (0, 2)]
            if environment:
                self.assertEqual(self.ended(self.partitioner(document, output, *timeouts, rank=1, size=3,
                                                             environment=environment))[0], -9)
            for process in processes:
                code, _, log = self.ended(process)
                self.assertEqual(code, 74, log)
                self.assertIn(f"rank 1 of 3 {what}", log)
            self.assertEqual(list((self.dir / output).rglob("manifest.json")), [])

    def small_job(self, replicas):
        """Returns a job whose preprocessing changes the edges of the graph."""
        graph = self.dir / "graph"
        if not graph.exists():
            self.generate("--nodes", 2000, "--edges", 20000, "--classes", 4, "--features", 16)
        return job(graph, graph__partitions={"count": 4, "algorithm": "Streaming"},
                   graph__preprocess={"dropSelfLoops": True, "addReverseEdges": True, "dropDuplicateEdges": True},
                   partitioner__replicas=replicas)

    def partitions_of(self, run):
        return next((self.dir / run / "partitions").glob("*/manifest.json")).parent

    def test_a_run_with_three_partitioners_trains_as_with_one(self):
        one = self.run_job(self.small_job(1), "one")
        three = self.run_job(self.small_job(3), "three")
        self.assert_same_files(self.partitions_of("three"), self.partitions_of("one"))
        for field in ("partitionKey", "testAccuracy", "parametersDigest"):
            self.assertEqual(three[field], one[field], field)
        logs = [(self.dir / "three/logs" / f"{name}.log").exists()
                for name in ("partitioner", "partitioner-1", "partitioner-2", "partitioner-3")]
        self.assertEqual(logs, [True, True, True, False])
        self.assertFalse((self.dir / "one/logs/partitioner-1.log").exists())

    def test_a_partitioner_that_is_killed_in_a_run_is_started_again(self):
        self.run_job(self.small_job(1), "one")
        process = self.start(self.small_job(3), "killed", env={
            **os.environ, "ESPALIER_FAILPOINTS_PARTITIONER_1": "store.put_if_absent=crash@3"})
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        output, _ = process.communicate(timeout=400)
        self.assertEqual(process.returncode, 0, output)
        self.assertIn("partitioner-1 was killed (signal 9); starting it again", output)
        self.assert_same_files(self.partitions_of("killed"), self.partitions_of("one"))

    def test_unsupported_options_of_several_partitioners_are_refused(self):
        document = self.small_job(3)
        document["spec"]["graph"]["partitions"]["algorithm"] = "METIS"
        refused = espalier("run", "-f", self.write_job(document), "--output", self.dir / "run")
        self.assertEqual(refused.returncode, 64, refused.stderr)
        self.assertIn("spec.graph.partitions.algorithm: METIS and Multilevel need the whole graph in one process",
                      refused.stderr)

    def test_bad_flags_and_documents_are_refused(self):
        graph = self.generate("--nodes", 500, "--edges", 3000)
        metis = self.write_job(job(graph), "metis.json")
        code, _, log = self.ended(self.partitioner(metis, "parts", rank=0))
        self.assertEqual(code, 65, log)
        self.assertIn("METIS and Multilevel need the whole graph", log)
        random = self.write_job(job(graph, graph__partitions={"count": 2, "algorithm": "Random"}), "random.json")
        for rank, group, what in ((4, "a", "rank 4: expected 0 to 3"),
                                  (0, "", "expected 1 to 64 characters of a-z, 0-9 and -")):
            code, _, log = self.ended(self.partitioner(random, "parts", rank=rank, group=group))
            self.assertEqual(code, 64, log)
            self.assertIn(what, log)
