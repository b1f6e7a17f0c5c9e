"""Runs whose connections are all under mutual TLS: the same numbers as ever, and certificates that change under way."""

import json
import os
import subprocess
import time

from harness import CORA, Scenario, job


def openssl(*args, **kwargs):
    subprocess.run(["openssl", *map(str, args)], check=True, capture_output=True, timeout=60, **kwargs)


class Authority:
    """A certificate authority by OpenSSL's command line."""

    def __init__(self, folder):
        self.folder = folder
        self.key, self.certificate = folder / "ca.key", folder / "ca.crt"
        folder.mkdir()
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                "/CN=second authority", "-keyout", self.key, "-out", self.certificate)

    def issue(self, uri, folder):
        """tls.crt and tls.key of a process with this identity."""
        folder.mkdir()
        request, extensions = folder / "request", folder / "extensions"
        extensions.write_text(f"basicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature\n"
                              f"extendedKeyUsage=serverAuth,clientAuth\nsubjectAltName=URI:{uri}\n")
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=process",
                "-keyout", folder / "tls.key", "-out", request)
        openssl("x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self.key, "-CAcreateserial", "-days",
                "1", "-extfile", extensions, "-out", folder / "tls.crt")


class TransportSecurity(Scenario):
    def cora(self, **changes):
        settings = {
            "training__task": {"type": "NodeClassification", "label": "node-label", "split": "public"},
            "training__batchSize": 140, "training__epochs": 5,
            "samplers": {"replicas": 1}, "trainers": {"replicas": 2, "threads": 1}}
        return job(CORA, "OGB", **{**settings, **changes})

    def test_trains_the_same_over_the_ring_twice_as_over_gloo(self):
        plain = self.run_job(self.cora(), "plain", "--access", "rpc")
        first = self.run_job(self.cora(), "first", "--access", "rpc", "--tls")
        second = self.run_job(self.cora(tls={"mode": "Managed"}), "second", "--access", "rpc")

        self.assertEqual(first["parametersDigest"], second["parametersDigest"])
        # With two trainers there is one order to add in.
        self.assertEqual(plain["parametersDigest"], first["parametersDigest"])
        self.assertEqual(plain["lossPerEpoch"], first["lossPerEpoch"])
        self.assertEqual(plain["collective"], "Gloo")
        self.assertEqual(first["collective"], "Ring")
        self.assertFalse((self.dir / "first/run/tls").exists(), "keys outlive the run")
        print(f"seconds: {plain['seconds']:.2f} training in plaintext, {first['seconds']:.2f} with TLS")

    def test_replaces_certificates_and_authority_every_second_without_a_failed_call(self):
        run = self.start(self.cora(training__epochs=400), "run", "--access", "rpc", "--tls")
        tls = self.dir / "run/run/tls"
        ready = self.dir / "run/run/trainer-0.json"
        self.wait_until(ready.exists)

        # An authority of the test's own beside the run's, then certificates of it in place of the first ones.
        authority = Authority(self.dir / "authority")
        bundle = tls / "ca.next"
        bundle.write_text((tls / "ca.crt").read_text() + authority.certificate.read_text())
        bundle.rename(tls / "ca.crt")
        time.sleep(2.5)  # the files are read every second
        uris = {role: self.uri_of(tls / role / "tls.crt") for role in ("server", "sampler", "trainer")}
        rounds = 0
        while run.poll() is None and rounds < 8:
            for role, uri in uris.items():
                fresh = self.dir / f"{role}-{rounds}"
                authority.issue(uri, fresh)
                for name in ("tls.crt", "tls.key"):
                    os.replace(fresh / name, tls / role / name)
            rounds += 1
            time.sleep(1)
        output, _ = run.communicate(timeout=300)

        self.assertEqual(run.returncode, 0, output)
        self.assertGreaterEqual(rounds, 3, "the run was over too early")
        for log in (self.dir / "run/logs").iterdir():
            for line in log.read_text().splitlines():
                level = json.loads(line)["level"]
                self.assertNotEqual(level, "error", line)
                self.assertNotRegex(line, "refused|handshake failed|went away|lost", log.name)

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

    @staticmethod
    def uri_of(certificate):
        text = subprocess.run(["openssl", "x509", "-in", certificate, "-noout", "-ext", "subjectAltName"],
                              capture_output=True, text=True, check=True).stdout
        return next(part for part in text.replace(",", " ").split() if part.startswith("URI:")).removeprefix("URI:")

    def wait_until(self, condition, seconds=90):
        deadline = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), deadline, "nothing happened in time")
            time.sleep(0.05)
