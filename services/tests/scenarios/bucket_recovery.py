"""Runs with graph, partitions, checkpoints and outputs in a bucket have the right results after processes or the run
were killed."""

import json
import os
import pathlib
import select
import signal
import socket
import subprocess
import time

import s3_gateway
from bad_network import BadNetwork
from harness import BIN, CORA, espalier
from recovery import RecoveryScenario, cora

SECRET = "not-to-be-seen-anywhere"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class BucketRecovery(RecoveryScenario):
    def setUp(self):
        super().setUp()
        self.bucket = self.dir / "s3" / "bucket"
        self.bucket.mkdir(parents=True)
        self.port = free_port()
        self.endpoint = f"http://127.0.0.1:{self.port}"
        self.keys = s3_gateway.keys(SECRET)
        self.gateway = self.start_gateway()

    def start_gateway(self):
        return s3_gateway.start(self, self.bucket.parent, f"127.0.0.1:{self.port}", SECRET)

    def in_bucket(self, endpoint=None, **changes):
        for path in CORA.rglob("*"):
            if path.is_file():
                s3_gateway.upload(path, f"{self.endpoint}/bucket/cora/{path.relative_to(CORA)}", SECRET)
        document = cora(graph__source={"uri": "s3://bucket/cora", "format": "OGB"},
                        output={"uri": "s3://bucket/jobs/one", "save": ["Model", "Predictions"]}, **changes)
        document["spec"]["storage"] = {"s3": {"endpoint": endpoint or self.endpoint, "region": "eu-north-1"}}
        return document

    def keys_below(self, folder):
        root = self.bucket / folder
        return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}

    def test_kills_and_a_killed_run_change_nothing(self):
        wanted = self.digest()
        document = self.in_bucket()
        process = self.start(document, "run", "--access", "rpc", env={**os.environ, **self.keys})
        self.addCleanup(process.kill)
        self.wait_for_steps(process, "run", 40)
        process.kill()
        process.communicate(timeout=30)

        # As on another machine: the output folder is new, and everything else is in the bucket.
        done = self.under_fire("other", [("trainer-1", 70), ("server-0", 90)], environment=self.keys,
                               document=document, args=["--restart"])
        self.assertEqual(done["parametersDigest"], wanted)

        manifest = json.loads((self.bucket / "jobs/one/manifest.json").read_text())
        keys = self.keys_below("jobs/one")
        for file in manifest["files"]:
            self.assertIn(file["key"], keys)
        self.assertTrue(any(key.startswith("partitions/") for key in keys))
        self.assertTrue(any(key.startswith("checkpoints/") for key in keys))
        self.assertEqual(json.loads((self.dir / "other/result.json").read_text())["parametersDigest"], wanted)
        self.assertFalse((self.dir / "other/model").exists())
        self.expect_no_secret(self.dir / "run")
        self.expect_no_secret(self.dir / "other")

    def test_processes_of_a_server_fetch_their_partition_once(self):
        network = BadNetwork(self.endpoint, percent=0, seed="")
        self.addCleanup(network.close)
        cache = self.dir / "cache"
        done = self.under_fire("run", [("server-4", 40)], environment={**self.keys, "ESPALIER_DATA_DIR": str(cache)},
                               document=self.in_bucket(endpoint=network.endpoint, servers={"containersPerPod": 3}))
        self.assertEqual(done["parametersDigest"], self.digest())
        self.assertEqual(done["restarts"], {"trainers": 0, "services": 1})
        fetched = {request: times for request, times in network.tries.items()
                   if request.startswith("GET ") and "/part-" in request}
        self.assertTrue(fetched)
        self.assertEqual(set(fetched.values()), {1}, fetched)
        self.assertEqual(len(list(cache.glob("partitions/*/*/part-*"))), 2, "a copy of each partition")

    def test_a_stopped_run_resumes_elsewhere(self):
        document = self.in_bucket()
        process = self.start(document, "first", "--access", "rpc", env={**os.environ, **self.keys})
        self.addCleanup(process.kill)
        self.wait_for_steps(process, "first", 40)
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 75, output)
        done = self.under_fire("second", environment=self.keys, document=document, args=["--resume"])
        self.assertEqual(done["parametersDigest"], self.digest())
        self.assertEqual(done["incarnation"], 2)

    def test_failures_of_a_third_of_all_requests_change_nothing(self):
        network = BadNetwork(self.endpoint, percent=30, seed="cora")
        self.addCleanup(network.close)
        done = self.under_fire("run", [("trainer-0", 60)], environment=self.keys,
                               document=self.in_bucket(endpoint=network.endpoint))
        self.assertEqual(done["parametersDigest"], self.digest())
        self.assertGreater(sum(network.met.values()), network.num_requests / 5)

    def test_an_unavailable_store_ends_the_run_with_its_reason(self):
        document = self.in_bucket(runPolicy={"backoffLimit": 0})
        process = self.start(document, "run", "--access", "rpc", env={**os.environ, **self.keys})
        self.addCleanup(process.kill)
        watch = self.wait_for_steps(process, "run", 60)
        self.gateway.kill()
        deadline = time.monotonic() + 240
        steps = 0
        while steps < watch.num_steps:
            self.assertIsNone(process.poll(), "training needs no store")
            self.assertLess(time.monotonic(), deadline, f"{steps} of {watch.num_steps} steps")
            time.sleep(0.05)
            steps = watch.steps_done() or steps  # a missing answer leaves the number unchanged
        trained = time.monotonic()
        output, _ = process.communicate(timeout=120)
        seconds = time.monotonic() - trained
        self.assertEqual(process.returncode, 74, output)
        self.assertRegex(output, rf"s3://bucket/jobs/one.*127\.0\.0\.1:{self.port}.*; gave up after \d+ requests")
        self.assertLess(seconds, 60, output)
        self.assertNotIn("checkpoint not written", (self.dir / "run/logs/trainer-1.log").read_text())
        self.assertIn("checkpoint not written", (self.dir / "run/logs/trainer-0.log").read_text())

        self.start_gateway()
        verified = espalier("checkpoint", "verify", "s3://bucket/jobs/one",
                            env={**os.environ, **self.keys, "AWS_ENDPOINT_URL": self.endpoint, "AWS_REGION": "eu-north-1"})
        self.assertEqual(verified.returncode, 0, verified.stdout + verified.stderr)
        done = self.under_fire("run", environment=self.keys, document=document, args=["--resume"])
        self.assertEqual(done["parametersDigest"], self.digest())
        print(f"{seconds:.1f} s from the last step to the end of a run without its store")

    def hang_in_mid_run(self, patience):
        """Starts a run, then stops its store from responding. `patience` is the timeout in seconds."""
        document = self.in_bucket()
        environment = {**os.environ, **self.keys, "ESPALIER_S3_PATIENCE_SECONDS": str(patience)}
        process = self.start(document, "run", "--access", "rpc", env=environment)
        self.addCleanup(process.kill)
        self.wait_for_steps(process, "run", 60)
        self.gateway.send_signal(signal.SIGSTOP)
        return document, process

    def read_until(self, process, words):
        """Returns the output of a process up to these words."""
        seen = ""
        deadline = time.monotonic() + 240
        while words not in seen:
            ready, _, _ = select.select([process.stdout], [], [], max(0, deadline - time.monotonic()))
            chunk = os.read(process.stdout.fileno(), 1 << 16).decode(errors="replace") if ready else ""
            self.assertTrue(chunk, f"'{words}' is not in: {seen}")
            seen += chunk
        return seen

    def test_a_run_waits_for_a_hanging_store_and_continues(self):
        _, process = self.hang_in_mid_run(patience=8)
        output = self.read_until(process, "waiting for the store: ")
        self.assertRegex(output, r"trainer-[01] ended with exit code 74")
        self.gateway.send_signal(signal.SIGCONT)
        rest, _ = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 0, output + rest)
        result = json.loads((self.dir / "run/result.json").read_text())
        self.assertEqual(result["parametersDigest"], self.digest())
        self.assertEqual(result["restarts"]["trainers"], 1, "one failure, whatever the store was away for")

    def test_a_store_that_keeps_hanging_ends_the_run_after_one_failure(self):
        document, process = self.hang_in_mid_run(patience=3)
        output, _ = process.communicate(timeout=240)
        self.assertEqual(process.returncode, 74, output)
        self.assertRegex(output, rf"s3://bucket/jobs/one.*127\.0\.0\.1:{self.port}.*, no response for \d+ s")
        self.assertIn("the store is still unreachable, so no process is restarted", output)
        self.assertEqual(output.count("restarting trainers"), 1, output)  # the restart was announced but did not happen
        self.assertEqual(json.loads((self.dir / "run/run/state.json").read_text())["incarnation"], 1)

        self.gateway.send_signal(signal.SIGCONT)
        done = self.under_fire("run", environment=self.keys, document=document, args=["--resume"])
        self.assertEqual(done["parametersDigest"], self.digest())

    def test_a_full_disk_in_the_cache_ends_the_run_with_its_reason(self):
        cache = self.dir / "cache"
        cache.mkdir()
        document = self.in_bucket(runPolicy={"backoffLimit": 0})

        def with_disk_of(size):
            # The disk exists only for this process and its children, and disappears with them.
            return ["unshare", "--mount", "sh", "-c", f'mount -t tmpfs -o size={size} none "$0" && exec "$@"', str(cache)]

        if os.geteuid() != 0 or subprocess.run([*with_disk_of("1m"), "true"], capture_output=True).returncode != 0:
            self.skipTest("making a small disk takes root and mount namespaces")
        # First a disk with room for the graph but not for its partitions, then one with room for both.
        command = [str(BIN / "espalier"), "run", "-f", str(self.write_job(document)), "--output", str(self.dir / "run"),
                   "--access", "rpc"]
        environment = {**os.environ, **self.keys, "ESPALIER_DATA_DIR": str(cache)}
        full = subprocess.run([*with_disk_of("5m"), *command], capture_output=True, text=True, timeout=120,
                              stdin=subprocess.DEVNULL, env=environment)
        self.assertEqual(full.returncode, 74, full.stdout + full.stderr)
        self.assertIn("server-", full.stdout + full.stderr)
        self.assertIn(str(cache), full.stdout + full.stderr)
        roomy = subprocess.run([*with_disk_of("100m"), *command], capture_output=True, text=True, timeout=240,
                               stdin=subprocess.DEVNULL, env=environment)
        self.assertEqual(roomy.returncode, 0, roomy.stdout + roomy.stderr)
        self.assertEqual(json.loads((self.dir / "run/result.json").read_text())["parametersDigest"], self.digest())

    def expect_no_secret(self, folder):
        for path in pathlib.Path(folder).rglob("*"):
            if path.is_file():
                self.assertNotIn(SECRET.encode(), path.read_bytes(), path)
