"""Tests single processes: ports in use, bytes that are not RPCs, signals during a wait, full disks."""

import http.client
import json
import os
import random
import re
import resource
import signal
import socket
import subprocess
import time

from harness import BIN, Scenario, espalier, job


def wait_for(condition, what, seconds=60):
    deadline = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError(f"{what}: not within {seconds} s")
        os.sched_yield()


def said_to_be_configuration(log):
    lines = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    return [line for line in lines if line["message"] == "configuration"]


class Processes(Scenario):
    """Graph servers, samplers and trainers started by hand over a small partitioned graph."""

    def setUp(self):
        super().setUp()
        self.graph = self.generate("--nodes", 2000, "--edges", 20000, "--classes", 4, "--features", 16)
        partitioned = espalier("partition", self.graph, "--format", "NPY", "--count", 1, "--output",
                               self.dir / "parts", "--json")
        self.assertEqual(partitioned.returncode, 0, partitioned.stderr)
        self.partitions = json.loads(partitioned.stdout)["uri"]
        self.job = self.write_job(job(self.graph, graph__partitions__count=1))

    def spawn(self, role, *args, ready=None, environment=None):
        """Starts a process. With `ready`, waits until it serves and returns (process, content of its ready file)."""
        command = [str(BIN / ("espalier-" + role)), "--log-format", "json", *map(str, args)]
        if ready is not None:
            command += ["--ready-file", str(self.dir / ready)]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                   stdin=subprocess.DEVNULL, env={**os.environ, **(environment or {})})
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        if ready is None:
            return process
        wait_for(lambda: (self.dir / ready).exists() or process.poll() is not None, role + " is ready")
        self.assertIsNone(process.poll(), process.stderr.read() if process.poll() is not None else "")
        return process, json.loads((self.dir / ready).read_text())

    def server(self, *args, ready="server.json", **kwargs):
        return self.spawn("graph-server", "--partitions", self.partitions, "--partition", 0, *args, ready=ready,
                          **kwargs)

    def partitioner(self, *args, ready="partitioner.json", **kwargs):
        """Starts the first of two partitioners. It waits for the second, which is not started."""
        document = self.write_job(job(self.graph, graph__partitions={"count": 2, "algorithm": "Random"}), "two.json")
        return self.spawn("partitioner", "--job", document, "--output", self.dir / "two", "--rank", 0,
                          "--world-size", 2, "--group", "try-1", *args, ready=ready, **kwargs)

    @staticmethod
    def ask(ready, path):
        """Returns the status and the text of a response of an admin port."""
        admin = http.client.HTTPConnection(ready["adminAddress"], timeout=30)
        try:
            admin.request("GET", path)
            answer = admin.getresponse()
            return answer.status, answer.read().decode()
        finally:
            admin.close()

    def expect_end(self, process, code, *words, seconds=60):
        _, log = process.communicate(timeout=seconds)
        self.assertEqual(process.returncode, code, log)
        for word in words:
            self.assertIn(word, log)

    def expect_stop(self, process):
        process.send_signal(signal.SIGTERM)
        self.expect_end(process, 75)

    def test_a_taken_port_is_named_and_ends_the_process_with_74(self):
        _, serving = self.server()
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            address = f"127.0.0.1:{port}"
            ask = ["--job", self.job, "--servers", serving["address"]]
            for flag in ("--listen", "--admin-listen"):
                with self.subTest(flag=flag):
                    self.expect_end(self.server(flag, address, ready=None), 74, address)
                    self.expect_end(self.spawn("sampler", *ask, flag, address), 74, address)
            self.expect_end(self.partitioner("--admin-listen", address, ready=None), 74, address)
            for flags in (["--admin-listen", address], ["--world-size", 2, "--rank", 0, "--rendezvous", address]):
                with self.subTest(flags=flags):
                    self.expect_end(self.spawn("trainer", *ask, *flags), 74, str(port))

    def test_an_invalid_admin_address_ends_the_process_with_64(self):
        ask = ["--job", self.job, "--servers", "127.0.0.1:1"]
        wrong = ["--admin-listen", "127.0.0.1"]
        words = "--admin-listen: address '127.0.0.1': expected host:port"
        self.expect_end(self.server(*wrong, ready=None), 64, words)
        self.expect_end(self.partitioner(*wrong, ready=None), 64, words)
        for role in ("sampler", "trainer"):
            with self.subTest(role=role):
                self.expect_end(self.spawn(role, *ask, *wrong), 64, words)

    def test_sigterm_ends_processes_that_wait_for_a_server(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            silent.settimeout(60)
            address = "127.0.0.1:%d" % silent.getsockname()[1]
            for role in ("sampler", "trainer"):
                with self.subTest(role=role):
                    process = self.spawn(role, "--job", self.job, "--servers", address, "--connect-seconds", 3600)
                    connection, _ = silent.accept()
                    with connection:  # the process has sent its first request, and gets no response
                        started = time.monotonic()
                        self.expect_stop(process)
                        self.assertLess(time.monotonic() - started, 30)

    def test_garbage_on_the_ports_has_no_effect(self):
        server, serving = self.server()
        ask = ["--job", self.job, "--servers", serving["address"]]
        sampler, sampling = self.spawn("sampler", *ask, ready="sampler.json")
        trainer, meeting = self.spawn("trainer", *ask, "--world-size", 2, "--rank", 0, "--rendezvous", "127.0.0.1:0",
                                      "--collective", "ring", ready="trainer.json")  # the other rank is never started
        dice = random.Random(7)
        preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
        settings = b"\0\0\0\4\0\0\0\0\0"
        garbage = [b"", b"\0", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
                   b"A" * (1 << 20), preface, preface + b"\xff" * 4096, preface + settings + b"\xff\xff\xff" * 4096,
                   preface + settings + b"\0\0\4\1\4\0\0\0\1abcd",      # headers that are no HPACK
                   preface + settings + b"\0\0\5\0\0\0\0\0\1\0\xff\xff\xff\xff",  # a message of 4 GiB on no stream
                   preface + (b"\0\0\0\3\0\0\0\0\1" + b"\0\0\1\0\0\0\0\0\1x") * 1000]
        garbage += [preface + settings + dice.randbytes(dice.randrange(1, 2000)) for _ in range(50)]
        garbage += [dice.randbytes(dice.randrange(1, 2000)) for _ in range(50)]
        idle = []
        for address in (serving["address"], serving["adminAddress"], sampling["address"], sampling["adminAddress"],
                        meeting["rendezvous"], meeting["adminAddress"]):
            host, port = address.rsplit(":", 1)
            for number, sent in enumerate(garbage):
                connection = socket.create_connection((host, int(port)), timeout=30)
                try:
                    connection.sendall(sent)
                except OSError:  # the process has closed the connection, which is correct
                    pass
                if number % 10 == 0:
                    idle.append(connection)  # stays open until the end of the test
                else:
                    connection.close()
        for process, ready in ((server, serving), (sampler, sampling), (trainer, meeting)):
            self.assertIsNone(process.poll())
            self.assertEqual(self.ask(ready, "/livez")[0], 200)
        another, _ = self.spawn("sampler", *ask, ready="another.json")  # the server still serves new clients
        for connection in idle:
            connection.close()
        for process in (another, sampler, server):
            self.expect_stop(process)

    def named(self, name, seed):
        """Writes a document with this name, with learnable rows and evaluations over full neighborhoods; returns its
        path."""
        document = job(self.graph, graph__partitions__count=1, training__seed=seed,
                       training__inputs=[{"features": ["node-feat"], "embedding": {"size": 4}}])
        document["metadata"]["name"] = name
        return self.write_job(document, name + ".json")

    def trainer(self, document, folder, *flags):
        return self.spawn("trainer", "--job", document, "--output", self.dir / folder, *flags)

    def digests(self, folder):
        result = json.loads((self.dir / folder / "manifest.json").read_text())["result"]
        return [result[name] for name in ("parametersDigest", "learnableRowsDigest", "testAccuracy")]

    def test_two_jobs_on_one_server_match_separate_runs(self):
        documents = {name: self.named(name, seed) for name, seed in (("first", 1), ("second", 2))}
        for name, document in documents.items():
            self.expect_end(self.trainer(document, name + "-alone", "--partitions", self.partitions), 0)
        self.assertNotEqual(self.digests("first-alone"), self.digests("second-alone"))

        _, serving = self.server()
        ask = ["--servers", serving["address"], "--access", "rpc"]
        at_once = [self.trainer(document, name + "-at-once", *ask) for name, document in documents.items()]
        for process in at_once:
            self.expect_end(process, 0, seconds=120)
        for name in documents:
            self.assertEqual(self.digests(name + "-at-once"), self.digests(name + "-alone"), name)

        self.expect_end(self.trainer(documents["first"], "third-life", *ask, "--incarnation", 3), 0)
        self.expect_end(self.trainer(documents["second"], "after-it", *ask, "--incarnation", 1), 0)
        self.assertEqual(self.digests("after-it"), self.digests("second-alone"))
        self.expect_end(self.trainer(documents["first"], "of-the-past", *ask, "--incarnation", 1), 74,
                        "incarnation 1 of job 'first', which is now in incarnation 3")
        self.expect_end(self.trainer(documents["first"], "renamed", *ask, "--job-name", "first-again"), 0)
        self.assertEqual(self.digests("renamed"), self.digests("first-alone"))

    def test_a_partitioner_reports_its_phase(self):
        process, ready = self.partitioner()
        wait_for(lambda: json.loads(self.ask(ready, "/status")[1]).get("phase") == "validating", "it waits for another")
        for path in ("/livez", "/readyz"):
            self.assertEqual(self.ask(ready, path)[0], 200, path)
        status = json.loads(self.ask(ready, "/status")[1])
        self.assertEqual((status["rank"], status["partitioners"]), (0, 2))
        self.assertNotIn("phasePercent", status)  # the progress of this phase is unknown
        self.assertLessEqual({"digesting", "reading", "validating"}, set(status["seconds"]))
        self.assertGreater(status["writtenBytes"], 0)  # its heartbeat
        metrics = self.ask(ready, "/metrics")[1]
        for series in ('espalier_partitioner_phase_done_ratio{phase="reading"} 1\n',
                       'espalier_partitioner_phase_done_ratio{phase="validating"} 0\n',
                       'espalier_partitioner_phase_seconds{phase="validating"} ',
                       "espalier_partitioner_read_bytes_total ", "espalier_process_resident_bytes ",
                       "espalier_admin_requests_total "):
            self.assertIn(series, metrics)
        self.expect_stop(process)

    def test_each_process_logs_its_configuration_once_without_secrets(self):
        secrets = {"AWS_ACCESS_KEY_ID": "an-id-that-is-no-secret", "AWS_SECRET_ACCESS_KEY": "not-to-be-told",
                   "AWS_SESSION_TOKEN": "not-to-be-told-either"}
        server, serving = self.server("--max-fanout", 77, environment=secrets)
        ask = ["--job", self.job, "--servers", serving["address"]]
        with socket.create_server(("127.0.0.1", 0)) as silent:
            silent.settimeout(60)
            nobody = "127.0.0.1:%d" % silent.getsockname()[1]
            sampler, _ = self.spawn("sampler", *ask, ready="sampler.json", environment=secrets)
            partitioner, _ = self.partitioner(environment=secrets)
            trainer = self.spawn("trainer", "--job", self.job, "--servers", nobody, "--connect-seconds", 3600,
                                 environment=secrets)
            connection, _ = silent.accept()
            with connection:
                processes = {"graph-server": server, "sampler": sampler, "partitioner": partitioner, "trainer": trainer}
                logs = {}
                for role, process in processes.items():
                    process.send_signal(signal.SIGTERM)
                    _, logs[role] = process.communicate(timeout=60)
        for role, log in logs.items():
            with self.subTest(role=role):
                self.assertNotIn("not-to-be-told", log)
                said = said_to_be_configuration(log)
                self.assertEqual(len(said), 1, log)
                help_text = subprocess.run([str(BIN / f"espalier-{role}"), "--help"], capture_output=True, text=True,
                                           check=True, timeout=60).stdout
                options = set(re.findall(r"^  (?:-\w,)?--([\w-]+)", help_text, flags=re.MULTILINE)) - {"help"}
                self.assertGreater(len(options), 10, help_text)
                self.assertEqual({name.replace("-", "_") for name in options} - set(said[0]), set())
                if role != "graph-server":
                    self.assertEqual(json.loads(said[0]["document"])["kind"], "DistTraining")
                if role in ("sampler", "trainer"):
                    self.assertEqual(said[0]["job_name"], "scenario")
        [configured] = said_to_be_configuration(logs["graph-server"])
        self.assertEqual(configured["max_fanout"], "77")
        self.assertNotEqual(configured["threads"], 0)

    def test_a_full_disk_ends_a_run_with_its_reason(self):
        def no_room_for(size):
            def limit():
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # writes fail instead, as on a full disk
                resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
            return limit

        # First too small for the features, then large enough for the partitions but not for the embeddings.
        for size, expected in ((64 << 10, "partition"), (400 << 10, "embeddings")):
            with self.subTest(size=size):
                process = self.start(job(self.graph, training__epochs=1, training__model__hiddenSize=256,
                                         output={"save": ["Model", "Embeddings"]}, runPolicy={"backoffLimit": 0}),
                                     f"run-{size}", preexec_fn=no_room_for(size))
                output, _ = process.communicate(timeout=120)
                self.assertEqual(process.returncode, 74, output)
                self.assertIn(expected, output)
                self.assertIn("No space left on device", output)
                self.assertFalse((self.dir / f"run-{size}" / "result.json").exists())


if __name__ == "__main__":
    import unittest
    unittest.main()
