"""Tests runs with mutual TLS on all connections: they have the numbers of plaintext runs, also if certificates are
replaced."""

import json
import pathlib
import subprocess
import sys
import time

from harness import BIN, CORA, Scenario, job

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import random_kills  # noqa: E402
from certificate_renewal import Renewal  # noqa: E402


class TransportSecurity(Scenario):
    def cora(self, **changes):
        settings = {
            "training__task": {"type": "NodeClassification", "label": "node-label", "split": "public"},
            "training__batchSize": 140, "training__epochs": 5,
            "samplers": {"replicas": 1}, "trainers": {"replicas": 2, "threads": 1}}
        return job(CORA, "OGB", **{**settings, **changes})

    def test_trains_the_same_with_tls_as_in_plaintext(self):
        plain = self.run_job(self.cora(), "plain", "--access", "rpc")
        first = self.run_job(self.cora(), "first", "--access", "rpc", "--tls")
        second = self.run_job(self.cora(tls={"mode": "Managed"}), "second", "--access", "rpc")

        self.assertEqual(first["parametersDigest"], second["parametersDigest"])
        self.assertEqual(plain["parametersDigest"], first["parametersDigest"])
        self.assertEqual(plain["lossPerEpoch"], first["lossPerEpoch"])
        self.assertEqual(plain["collective"], "Ring")
        self.assertEqual(first["collective"], "Ring")
        self.assertFalse((self.dir / "first/run/tls").exists(), "keys outlive the run")
        print(f"seconds: {plain['seconds']:.2f} training in plaintext, {first['seconds']:.2f} with TLS")

    def test_replaces_certificates_and_authority_every_second_without_a_failed_call(self):
        # More epochs than the test needs; it does not wait for the end.
        run = self.start(self.cora(training__epochs=100000), "run", "--access", "rpc", "--tls")
        self.addCleanup(run.kill)
        with Renewal(self.dir / "run", every_seconds=1, scratch=self.dir / "authority") as renewal:
            self.wait_until(lambda: renewal.rounds >= 3 or renewal.problem or run.poll() is not None, seconds=240)
        self.assertEqual(renewal.problem, "")
        run.terminate()
        output, _ = run.communicate(timeout=120)

        self.assertEqual(run.returncode, 75, output)
        self.assertGreaterEqual(renewal.rounds, 3, output)
        for log in (self.dir / "run/logs").iterdir():
            for line in log.read_text().splitlines():
                level = json.loads(line)["level"]
                self.assertNotEqual(level, "error", line)
                self.assertNotRegex(line, "refused|handshake failed|disconnected|went away|lost", log.name)

    def test_kills_while_certificates_are_replaced_change_nothing(self):
        folder = self.dir / "kills"
        folder.mkdir()
        # Certificates are renewed from the third second on: long enough for a fast machine too.
        args = random_kills.parser().parse_args(["--bin", str(BIN), "--runs", "1", "--seed", "certificates",
                                                 "--epochs", "120", "--renew-certificates", "1",
                                                 "--output", str(folder)])
        outcomes = random_kills.run_all(args, folder)
        self.assertEqual([outcome.problem for outcome in outcomes], [""])
        self.assertGreaterEqual(outcomes[0].renewals, 1, "the run ended too early")

    def test_refuses_a_process_without_the_jobs_certificate(self):
        run = self.start(self.cora(training__epochs=2000), "run", "--access", "rpc", "--tls")
        try:
            ready = self.dir / "run/run/server-0.json"
            self.wait_until(lambda: ready.exists() and (self.dir / "run/run/trainer-0.json").exists())
            address = json.loads(ready.read_text())["address"]
            answer = subprocess.run(["openssl", "s_client", "-connect", address, "-tls1_3", "-brief"],
                                    input="", capture_output=True, text=True, timeout=60)
            log = self.dir / "run/logs/server-0.log"
            self.wait_until(lambda: "peer did not return a certificate" in log.read_text())
            self.assertNotIn("BEGIN", answer.stdout)
        finally:
            run.terminate()
            run.communicate(timeout=120)

    def wait_until(self, condition, seconds=90):
        deadline = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), deadline, "nothing happened in time")
            time.sleep(0.05)
