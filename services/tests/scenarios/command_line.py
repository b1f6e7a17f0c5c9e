"""Tests generate, import, partition, inspect and verify as a user calls them."""

import json
import os
import pathlib
import signal
import subprocess
import time

from harness import BIN, CORA, Scenario, espalier, job, on_a_terminal


def waits_for_a_stop(pid):
    """Returns whether the process handles stops itself: its main thread blocks SIGINT and SIGTERM."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    blocked = int(next(line for line in status.splitlines() if line.startswith("SigBlk:")).split()[1], 16)
    return all(blocked >> (number - 1) & 1 for number in (signal.SIGINT, signal.SIGTERM))


class CommandLine(Scenario):
    def test_help_shows_examples_and_usage_errors_exit_with_64(self):
        for command in ("generate", "import", "partition", "inspect", "verify", "run"):
            shown = espalier(command, "--help")
            self.assertEqual(shown.returncode, 0)
            self.assertIn("espalier " + command, shown.stdout)
        self.assertEqual(espalier("partition", "--no-such-flag").returncode, 64)
        unknown = espalier("partitoin", "graph")
        self.assertEqual(unknown.returncode, 64)
        self.assertIn("there is no command 'partitoin' (did you mean 'partition'?): "
                      "`espalier --help` lists the commands", unknown.stderr)

    def test_a_folder_in_place_of_the_job_document_ends_each_program_with_64(self):
        for program, *args in (["espalier", "run", "-f", self.dir, "--output", self.dir / "out"],
                               ["espalier-partitioner", "--job", self.dir, "--output", self.dir / "parts"],
                               ["espalier-sampler", "--job", self.dir, "--servers", "127.0.0.1:1"],
                               ["espalier-trainer", "--job", self.dir, "--servers", "127.0.0.1:1"]):
            with self.subTest(program=program):
                process = subprocess.run([str(BIN / program), *map(str, args)], capture_output=True, text=True,
                                         timeout=60, stdin=subprocess.DEVNULL)
                self.assertEqual(process.returncode, 64, process.stdout + process.stderr)
                self.assertIn(f"{self.dir} is a folder", process.stdout + process.stderr)

    def test_a_trainer_without_the_gpu_that_its_document_names_exits_with_64(self):
        document = self.write_job(job(CORA, "OGB", trainers__device="CUDA"))
        process = subprocess.run([str(BIN / "espalier-trainer"), "--job", str(document), "--partitions", str(self.dir)],
                                 capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL,
                                 env={**os.environ, "CUDA_VISIBLE_DEVICES": ""})
        self.assertEqual(process.returncode, 64, process.stdout + process.stderr)
        self.assertRegex(process.stdout + process.stderr, "spec.trainers.device: CUDA: (no NVIDIA driver: libcuda.so.1"
                         "|the NVIDIA driver shows no CUDA device to this process)")

    def test_long_work_shows_a_bar_and_a_rate_on_a_terminal(self):
        graph, parts = self.dir / "graph", self.dir / "parts"
        generate = ["generate", "--nodes", 2000, "--edges", 20000, "--output", graph]
        self.assertEqual(espalier("partition", CORA, "--format", "OGB", "--count", 2, "--output", parts).returncode, 0)
        commands = {
            "generating": generate,
            f"reading {CORA}": ["import", CORA, "--format", "OGB", "--output", self.dir / "imported"],
            "verifying": ["verify", parts],
        }
        for phase, command in commands.items():
            self.expect_bars([phase], command)
        self.expect_bars(["reading", "cutting", "writing"],
                         ["partition", CORA, "--format", "OGB", "--count", 4, "--algorithm", "Streaming", "--output",
                          self.dir / "streamed"])

    def expect_bars(self, phases, command):
        code, painted = on_a_terminal(*command)
        self.assertEqual(code, 0, painted)
        for phase in phases:
            self.assertRegex(painted, rf"{phase}[^\r]* \[=+>? *\] +\d+ %  [\d.]+ [kMG]?B/s")

    def start_command(self, failpoint, *args):
        return subprocess.Popen([str(BIN / "espalier"), *map(str, args)], stdin=subprocess.DEVNULL, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                env={**os.environ, "ESPALIER_FAILPOINTS": failpoint + "=delay:120000ms"})

    def test_an_interrupted_command_leaves_nothing_behind(self):
        made = self.dir / "made"
        commands = {"generate": ["--nodes", 300, "--edges", 2000], "import": [CORA, "--format", "OGB"]}
        for name, args in commands.items():
            for number in signal.SIGINT, signal.SIGTERM:
                with self.subTest(command=name, signal=number.name):
                    process = self.start_command("graph.before_rename", name, *args, "--output", made)
                    deadline = time.monotonic() + 60
                    while not list(self.dir.glob("made.partial-*/graph.yaml")):
                        self.assertLess(time.monotonic(), deadline, "nothing was written")
                        os.sched_yield()
                    process.send_signal(number)
                    output, error = process.communicate(timeout=60)
                    self.assertEqual(process.returncode, 75, error)
                    self.assertEqual(output, "")
                    self.assertIn(f"espalier {name}: asked to stop", error)
                    self.assertEqual(list(self.dir.iterdir()), [])

    def test_verify_ends_on_sigterm(self):
        parts = self.dir / "parts"
        self.assertEqual(espalier("partition", CORA, "--format", "OGB", "--count", 2, "--output", parts).returncode, 0)
        process = self.start_command("store.get", "verify", parts)
        deadline = time.monotonic() + 60
        while not waits_for_a_stop(process.pid):
            self.assertLess(time.monotonic(), deadline)
            os.sched_yield()
        process.send_signal(signal.SIGINT)
        output, error = process.communicate(timeout=60)
        self.assertEqual((process.returncode, output), (75, ""), error)

    def test_import_and_job_preprocess_equally(self):
        flags = ["--drop-self-loops", "--add-reverse-edges", "--drop-duplicate-edges"]
        graph = self.generate("--nodes", 500, "--edges", 3000)
        cleaned = self.dir / "cleaned"
        self.assertEqual(espalier("import", graph, "--format", "NPY", *flags, "--output", cleaned).returncode, 0)
        cuts = []
        for name, source, more in ("cleaned", cleaned, []), ("raw", graph, flags):
            parts = self.dir / f"parts-{name}"
            cut = espalier("partition", source, "--format", "NPY", *more, "--output", parts, "--json")
            self.assertEqual(cut.returncode, 0, cut.stderr)
            cuts.append(json.loads(cut.stdout)["uri"])
        self.assertEqual(espalier("verify", cuts[0], "--source", graph, "--format", "NPY", *flags).returncode, 0)
        graph_files = [sorted(pathlib.Path(uri).rglob("graph.safetensors")) for uri in cuts]
        self.assertGreater(len(graph_files[0]), 1)
        for from_cleaned, from_raw in zip(*graph_files, strict=True):
            self.assertEqual(from_cleaned.read_bytes(), from_raw.read_bytes())

    def test_a_graph_is_imported_partitioned_verified_and_found_again(self):
        imported = self.dir / "cora"
        process = espalier("import", CORA, "--format", "ogb", "--add-reverse-edges", "--drop-duplicate-edges",
                           "--output", imported)
        self.assertEqual(process.returncode, 0, process.stderr)
        # The source contains each citation in both directions.
        self.assertIn("edges changed: 10556 reverse edges added, 10556 duplicates dropped\n", process.stdout)
        partition = ["partition", imported, "--format", "NPY", "--count", 3, "--output", self.dir / "parts", "--json"]
        first = espalier(*partition)
        self.assertEqual(first.returncode, 0, first.stderr)
        again = espalier(*partition)
        self.assertEqual(json.loads(first.stdout)["uri"], json.loads(again.stdout)["uri"])
        self.assertTrue(json.loads(again.stdout)["reused"])

        uri = json.loads(first.stdout)["uri"]
        verified = espalier("verify", uri, "--source", imported, "--format", "NPY")
        self.assertEqual(verified.returncode, 0, verified.stdout + verified.stderr)
        book = json.loads(espalier("inspect", uri, "--json").stdout)
        self.assertEqual(book["partitions"], 3)
        (nodes,), (edges,) = book["nodes"].values(), book["edges"].values()
        self.assertEqual((nodes["count"], edges["count"]), (2708, 10556))
        self.assertEqual((nodes["first"][0], nodes["first"][-1], len(nodes["first"])), (0, 2708, 4))
