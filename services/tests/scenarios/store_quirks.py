"""Tests commands with the unusual stores of services/storage/testing/mock_s3.py."""

import os
import socket
import subprocess
import sys
import unittest
from urllib.request import Request, urlopen

from harness import BIN, CORA, SOURCE, Scenario, espalier, job

MOCK = SOURCE / "services/storage/testing/mock_s3.py"


class StoreQuirks(Scenario):
    def start_store(self, quirks):
        """Starts a store and sets self.environment, the environment of its clients. The store ends with the test.
        self.requests() returns its requests."""
        self.log = self.dir / "requests.log"
        store = subprocess.Popen([sys.executable, str(MOCK), "0", quirks, str(self.log)], stdout=subprocess.PIPE, text=True)
        self.addCleanup(store.wait)
        self.addCleanup(store.kill)
        self.addCleanup(store.stdout.close)
        port = store.stdout.readline().strip()
        self.assertTrue(port, "the mock has ended")
        self.environment = {**os.environ, "AWS_ENDPOINT_URL_S3": f"http://127.0.0.1:{port}", "AWS_ACCESS_KEY_ID": "id",
                            "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1",
                            "ESPALIER_DATA_DIR": str(self.dir / "cache")}

    def requests(self):
        return self.log.read_text().splitlines()

    def partition(self, source=CORA, source_format="OGB"):
        return espalier("partition", source, "--format", source_format, "--count", 2, "--algorithm", "Random", "--output",
                        "s3://tests/partitions", env=self.environment)

    def run_in_store(self, **changes):
        document = job(CORA, "OGB", output={"uri": "s3://tests/run", "save": ["Model"]}, training__epochs=1,
                       training__task={"type": "NodeClassification", "label": "node-label", "split": "public"},
                       graph__partitions={"count": 1, "algorithm": "Random"}, **changes)
        return espalier("run", "-f", self.write_job(document), "--output", self.dir / "run", timeout=240,
                        env=self.environment)

    def test_a_missing_bucket_is_reported_before_the_graph_is_read(self):
        self.start_store("bucket=another")
        for done in (self.partition(), self.run_in_store()):
            self.assertEqual(done.returncode, 64, done.stdout + done.stderr)
            self.assertIn("NoSuchBucket", done.stderr)
            self.assertIn("create the bucket first", done.stderr)
            self.assertNotIn("left behind", done.stderr)
            self.assertNotIn("cutting", done.stdout + done.stderr)

    def test_a_source_in_a_missing_bucket_is_a_wrong_document(self):
        self.start_store("bucket=tests")
        done = espalier("partition", "s3://nowhere/cora", "--format", "OGB", "--count", 2, "--output",
                        "s3://tests/partitions", env=self.environment)
        self.assertEqual(done.returncode, 64, done.stdout + done.stderr)
        self.assertIn("NoSuchBucket", done.stderr)
        done = espalier("partition", "s3://tests/nowhere", "--format", "OGB", "--count", 2, "--output",
                        "s3://tests/partitions", env=self.environment)
        self.assertEqual(done.returncode, 65, done.stdout + done.stderr)

    def commands_at(self, uri):
        """Returns each command with the URI as its input."""
        graph = self.generate("--nodes", 50, "--edges", 100)
        parts = self.dir / "parts"
        self.assertEqual(espalier("partition", graph, "--format", "NPY", "--output", parts).returncode, 0)
        return [("import", uri, "--format", "NPY", "--output", self.dir / "copy"),
                ("partition", uri, "--format", "NPY", "--output", self.dir / "cut"),
                ("partition", graph, "--format", "NPY", "--output", uri), ("inspect", uri), ("verify", uri),
                ("verify", parts, "--source", uri, "--format", "NPY"), ("checkpoint", "ls", uri)]

    def test_errors_of_the_store_are_no_bad_input(self):
        commands = self.commands_at("s3://nowhere/graph")
        servers = ("web-server", "empty-server", "page-server", "json-server", "json-404-server", "blank-server")
        for quirk, words in (("bucket=tests", "create the bucket first"),
                             *((server, "check spec.storage.s3.endpoint") for server in servers)):
            self.start_store(quirk)
            for command in commands:
                done = espalier(*command, env=self.environment)
                self.assertEqual(done.returncode, 64, f"{quirk} {command}\n{done.stderr}")
                self.assertIn(words, done.stderr, command)
                self.assertNotIn("cutting", done.stderr, command)
        self.environment["AWS_ENDPOINT_URL_S3"] = self.environment["AWS_ENDPOINT_URL_S3"].replace("http:", "https:")
        for command in commands:
            done = espalier(*command, env=self.environment)
            self.assertEqual(done.returncode, 64, f"{command}\n{done.stderr}")
            self.assertIn("does not speak TLS", done.stderr, command)

    def test_a_store_that_does_not_respond_is_unavailable(self):
        commands = self.commands_at("s3://nowhere/graph")
        with socket.socket() as closed:  # bound, but not listening
            closed.bind(("127.0.0.1", 0))
            environment = {**os.environ, "AWS_ENDPOINT_URL_S3": f"http://127.0.0.1:{closed.getsockname()[1]}",
                           "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret",
                           "ESPALIER_S3_PATIENCE_SECONDS": "1", "ESPALIER_DATA_DIR": str(self.dir / "cache")}
            for command in commands:
                done = espalier(*command, env=environment)
                self.assertEqual(done.returncode, 74, f"{command}\n{done.stderr}")
                self.assertIn("no response for", done.stderr, command)

    def test_a_first_run_needs_no_permission_to_delete(self):
        self.start_store("no-delete")
        done = self.run_in_store()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertNotIn("AccessDenied", done.stdout + done.stderr)

    def test_multipart_objects_support_composite_checksums(self):
        self.start_store("composite-only")
        graph = self.generate("--nodes", 80000, "--edges", 80000, "--features", 64)
        done = self.partition(graph, "NPY")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.completed_without_checksums("partitions/")

    def completed_without_checksums(self, folder):
        completions = [line for line in self.requests() if line.startswith("POST") and "uploadId=" in line and folder in line]
        self.assertTrue(completions, "no object was large enough")
        for line in completions:
            self.assertNotIn("x-amz-checksum", line)

    def test_multipart_checkpoints_round_trip(self):
        self.start_store("composite-only")
        done = self.run_in_store(training__model__hiddenSize=1024, checkpoint={"every": {"epochs": 1}})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.completed_without_checksums("run/checkpoints/")
        for command in ("ls", "inspect", "verify"):
            done = espalier("checkpoint", command, "s3://tests/run", env=self.environment)
            self.assertEqual(done.returncode, 0, f"{command}\n{done.stdout}{done.stderr}")
            self.assertIn("epoch 1", done.stdout, command)

    def cut_with_model(self, uri):
        document = job(CORA, "OGB", output={"uri": "s3://tests/run", "save": ["Predictions"]},
                       training__task={"type": "NodeClassification", "label": "node-label", "split": "public"})
        document["spec"]["training"]["model"] = {"type": "TorchScript", "uri": uri}
        return subprocess.run([str(BIN / "espalier-partitioner"), "--job", str(self.write_job(document)), "--output",
                               str(self.dir / "cut")], env=self.environment, capture_output=True, text=True, timeout=60)

    def test_the_partitioner_checks_the_start_files_of_trainers(self):
        self.start_store("plain")
        done = self.cut_with_model("s3://tests/models/nowhere.pt")
        self.assertEqual(done.returncode, 65, done.stderr)
        self.assertIn("spec.training.model.uri: there is no object s3://tests/models/nowhere.pt", done.stderr)
        endpoint = self.environment["AWS_ENDPOINT_URL_S3"]
        for name, content, words in (("a.npy", b"\x93NUMPY\x01\0 and more", "is a .npy array: expected a TorchScript archive"),
                                     ("cut.pt", b"PK\x03\x04 constants.pkl", "is a truncated zip archive")):
            urlopen(Request(f"{endpoint}/tests/{name}", content, method="PUT")).close()
            done = self.cut_with_model(f"s3://tests/{name}")
            self.assertEqual(done.returncode, 65, done.stderr)
            self.assertIn(f"spec.training.model.uri: s3://tests/{name} {words}", done.stderr)
            self.assertNotIn("phase started", done.stderr)

    def test_a_trainer_without_its_bucket_has_a_wrong_document(self):
        self.start_store("bucket=tests")
        done = espalier("partition", CORA, "--format", "OGB", "--count", 1, "--algorithm", "Random", "--output",
                        self.dir / "cut")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        document = job(CORA, "OGB", training__epochs=1,
                       training__task={"type": "NodeClassification", "label": "node-label", "split": "public"})
        for flag in ("--output", "--checkpoints"):
            done = subprocess.run([str(BIN / "espalier-trainer"), "--job", str(self.write_job(document)), "--partitions",
                                   str(next((self.dir / "cut").glob("*/manifest.json")).parent), flag, "s3://nowhere/run"],
                                  env=self.environment, capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 64, done.stderr)
            self.assertIn("NoSuchBucket", done.stderr)

    def test_a_store_without_checksums_in_another_region(self):
        self.start_store("no-checksums,no-checksum-mode,region=eu-central-1")
        done = self.partition()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        refused = [line for line in self.requests() if line.split()[2] in ("301", "400")]
        # One request for the region, one for checksums of uploads, and a few that were sent at the same time.
        self.assertEqual({line.split()[2] for line in refused}, {"301", "400"}, refused)
        self.assertLess(len(refused), 6, refused)
        self.assertEqual(self.partition().returncode, 0, "the partitions are found")

    def test_checksums_can_be_switched_off(self):
        self.start_store("no-checksums,no-checksum-mode")
        self.environment |= {"AWS_REQUEST_CHECKSUM_CALCULATION": "when_required",
                             "AWS_RESPONSE_CHECKSUM_VALIDATION": "when_required"}
        self.assertEqual(self.partition().returncode, 0)
        self.assertNotIn("x-amz-checksum", self.log.read_text())


if __name__ == "__main__":
    unittest.main()
