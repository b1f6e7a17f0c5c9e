"""Tests a job on two machines over a real ssh: it has the numbers of one machine, and no process remains, whichever one
is killed."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest
import unittest.mock

import s3_gateway
from harness import BIN, SOURCE, espalier, job
from ssh_hosts import KNOWN_UNREACHABLE
from ssh_scenario import LaunchScenario, cora, setUpModule  # noqa: F401


class Launch(LaunchScenario):
    def test_two_machines_give_the_numbers_of_one(self):
        process = self.launch("two", "--logs")
        self.assertEqual(process.returncode, 0, process.stderr)
        result = self.result("two")
        self.assertEqual(result["parametersDigest"], self.digest())
        for line in ("[10.77.0.10 trainer-0] ", "[10.77.0.11 trainer-1] ", "[10.77.0.11 server-1] ",
                     "[10.77.0.10 sampler-0] "):
            self.assertIn(line, process.stderr)
        log = (self.shared / "two/logs/server-1.log").read_text()
        self.assertIn("10.77.0.11:30050", log)
        self.assertEqual(list((self.shared / "two").glob("hosts/*/run/tls")), [])

    def test_plaintext_needs_its_flag(self):
        process = self.launch("plain", "--plaintext", "--logs", hosts=["10.77.0.10 0", "10.77.0.11 31000"])
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual(self.result("plain")["parametersDigest"], self.digest())
        self.assertIn("backend=Ring", process.stderr)
        self.assertIn("10.77.0.11:31000", (self.shared / "plain/logs/server-1.log").read_text())

    def test_counts_for_each_host(self):
        process = self.launch("counts", "--servers-per-host", 2, "--trainers-per-host", 1, "--samplers-per-host", 1,
                              "--set", "training.epochs=1")
        self.assertEqual(process.returncode, 0, process.stderr)
        result = self.result("counts")
        self.assertEqual([result["partitions"], result["samplers"], result["trainers"]], [4, 2, 2])
        self.assertIn("10.77.0.10:30051", (self.shared / "counts/logs/server-2.log").read_text())

    def test_hosts_that_are_named_by_ipv6_addresses(self):
        process = self.launch("six", "--set", "training.epochs=1", hosts=["fd77::10", "[fd77::11] 31000"])
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertIn("[fd77::10]:30050", (self.shared / "six/logs/server-0.log").read_text())
        self.assertIn("[fd77::11]:31000", (self.shared / "six/logs/server-1.log").read_text())

    def test_processes_that_are_killed_on_their_hosts_are_replaced(self):
        process, log = self.begin("kills", 20)
        os.kill(self.pid_of("kills", "trainer-1"), signal.SIGKILL)
        os.kill(self.pid_of("kills", "server-0"), signal.SIGKILL)
        self.assertEqual(process.wait(200), 0, log.read_text())
        self.assertEqual(self.hosts.await_quiet(), {})
        self.assertIn("trainer-1 was killed (signal 9); restarting trainers from epoch ", log.read_text())
        self.assertEqual(self.result("kills")["parametersDigest"], self.digest())

    def test_learnable_rows_go_back_to_the_checkpoint_when_their_host_loses_its_server(self):
        document = cora(training__inputs=[{"features": ["node-feat"], "embedding": {
            "size": 8, "optimizer": {"type": "Adam", "learningRate": 0.01}}}])
        undisturbed = self.run_job(document, "rows-alone", "--access", "rpc")
        process, log = self.begin("rows", 20, document=document)
        os.kill(self.pid_of("rows", "server-1"), signal.SIGKILL)
        self.assertEqual(process.wait(200), 0, log.read_text())
        self.assertEqual(self.hosts.await_quiet(), {})
        result = self.result("rows")
        self.assertEqual(len(undisturbed["learnableRowsDigest"]), 64)
        for digest in ("parametersDigest", "learnableRowsDigest"):
            self.assertEqual(result[digest], undisturbed[digest])
        self.assertEqual(result["restarts"], {"trainers": 1, "services": 1})
        logs = "".join(log.read_text() for log in (self.shared / "rows/logs").glob("trainer-*"))
        self.assertIn("lost the learnable rows", logs)

    def test_a_killed_launcher_leaves_nothing_and_its_run_resumes(self):
        process, _ = self.begin("orphans", 20)
        self.assertTrue(all(self.hosts.processes(host) for host in (0, 1)))
        process.kill()
        process.wait(30)
        self.assertEqual(self.hosts.await_quiet(), {})
        process = self.launch("orphans", "--resume")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual(self.result("orphans")["parametersDigest"], self.digest())

    def test_a_stop_saves_a_checkpoint_and_prints_the_resume_command(self):
        # 100 ms a step: long enough for a line of progress, which the host of rank 0 sends.
        process, log = self.begin("stop", 20, "--set", "training.epochs=5000")
        deadline = time.monotonic() + 200
        while not re.search(r"training +\d+ %  epoch \d+ of 5000\b", log.read_text()):
            self.assertIsNone(process.poll(), log.read_text())
            self.assertLess(time.monotonic(), deadline, log.read_text())
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(120), 75, log.read_text())
        self.assertEqual(self.hosts.await_quiet(), {})
        self.assertRegex(log.read_text(), r"saved up to epoch .* resume with: espalier launch --hosts .* --resume")

    def test_a_lost_connection_ends_all_processes(self):
        process, log = self.begin("lost", 20)
        sessions = self.hosts.sessions(1)
        self.assertTrue(sessions)
        for pid in sessions:
            os.kill(pid, signal.SIGKILL)
        self.assertEqual(process.wait(120), 74, log.read_text())
        self.assertIn("10.77.0.11", log.read_text())
        self.assertEqual(self.hosts.await_quiet(), {})

    def test_an_unreachable_host(self):
        process = self.launch("nobody", "--connect-seconds", 3, hosts=["10.77.0.10", KNOWN_UNREACHABLE])
        self.assertEqual(process.returncode, 74, process.stderr)
        self.assertIn(f"ssh to {KNOWN_UNREACHABLE} failed: ssh: connect to host {KNOWN_UNREACHABLE}", process.stderr)

    def test_a_refused_key(self):
        process = self.launch("stranger", key="stranger")
        self.assertEqual(process.returncode, 77, process.stderr)
        self.assertIn("ssh to 10.77.0.10 was refused", process.stderr)
        self.assertIn("Permission denied", process.stderr)

    def test_a_changed_host_key(self):
        known = self.hosts.folder / "known_hosts"
        stranger = " ".join((self.hosts.folder / "stranger.pub").read_text().split()[:2])
        known.write_text("".join(f"[{address}]:2222 {stranger}\n" for address in self.hosts.addresses))
        process = self.launch("impostor")
        self.assertEqual(process.returncode, 77, process.stderr)
        self.assertIn("was refused", process.stderr)

    def test_a_host_without_espalier(self):
        process = self.launch("bare", "--bin", "/nonexistent")
        self.assertEqual(process.returncode, 64, process.stderr)
        self.assertIn("10.77.0.10 has no /nonexistent/espalier that can be run", process.stderr)

    def test_a_port_that_is_taken_names_its_holder(self):
        serve = ("import socket,time; s=socket.create_server(('10.77.0.11', 30050)); "
                 "print('up', flush=True); time.sleep(600)")
        holder = subprocess.Popen(self.hosts.inside(1, "python3", "-c", serve), stdout=subprocess.PIPE, text=True)
        self.addCleanup(holder.stdout.close)
        self.addCleanup(holder.wait)
        self.addCleanup(holder.kill)
        holder.stdout.readline()
        process = subprocess.run(self.command("taken"), capture_output=True, text=True, timeout=200,
                                 stdin=subprocess.DEVNULL, check=False)
        self.assertEqual(process.returncode, 74, process.stderr)
        self.assertRegex(process.stderr, r"on 10\.77\.0\.11: port 30050, where server-1 is to listen, is taken by "
                         rf"process {holder.pid} \(\S*python3 -c")  # with any path of python3
        self.assertNotIn("did not end after SIGTERM", process.stderr)  # server-1 was never started

    def test_an_invalid_document_connects_to_no_host(self):
        process = self.launch("wrong", "--set", "training.epochs=many", hosts=[KNOWN_UNREACHABLE])
        self.assertEqual(process.returncode, 64, process.stderr)
        self.assertIn("spec.training.epochs: expected an integer", process.stderr)


class WithoutSharedStorage(LaunchScenario):
    """Tests launches whose second host sees an empty folder in place of the shared one."""

    hidden = {1: "shared"}

    def copy(self, *args):
        return subprocess.run(self.hosts.inside("l", BIN / "espalier", "copy", "--hosts", self.hosts.write_hosts(),
                                                "--workspace", self.shared / "work", *self.hosts.flags(), *args),
                              capture_output=True, text=True, timeout=200, stdin=subprocess.DEVNULL, check=False)

    def test_each_host_gets_its_partitions(self):
        process = self.launch("apart")
        self.assertEqual(process.returncode, 64, process.stderr)
        self.assertIn("10.77.0.11 cannot access the partitions", process.stderr)

        # Processes detect by /tmp whether they are on the same machine, and machines do not share it.
        apart = ("--copy", "--workspace", self.shared / "work", "--env", f"TMPDIR={self.shared}")
        process = self.launch("apart", *apart)
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertIn("copied partitions to 2 hosts", process.stderr)
        self.assertEqual(self.result("apart")["parametersDigest"], self.digest())
        parts = {path.parent.name for path in (self.shared / "work").rglob("*.safetensors")}
        self.assertEqual(parts, {"part-00000"})  # this machine sees the first host's copy only

        process = self.launch("apart", *apart)
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertRegex(process.stderr,
                         r"copied partitions to 2 hosts .*: (\d+) files, \1 of them already there, 0B sent")

    def test_a_copy_resumes_and_repairs_damaged_files(self):
        folder = self.dir / "scripts"
        (folder / "deep").mkdir(parents=True)
        (folder / "deep/tool.sh").write_text("#!/bin/sh\necho here\n")
        (folder / "deep/tool.sh").chmod(0o755)
        (folder / "large.bin").write_bytes(os.urandom(9 << 20))
        process = self.copy("--folder", folder)
        self.assertEqual(process.returncode, 0, process.stderr)
        copied = self.shared / "work/scripts"
        self.assertEqual((copied / "large.bin").read_bytes(), (folder / "large.bin").read_bytes())
        self.assertTrue(os.access(copied / "deep/tool.sh", os.X_OK))

        # As after an interrupted copy: two of three blocks have arrived, one of them with a flipped bit.
        broken = bytearray((folder / "large.bin").read_bytes()[:8 << 20])
        broken[5 << 20] ^= 1
        (copied / "large.bin").unlink()
        (copied / "large.bin.espalier-part").write_bytes(broken)
        process = self.copy("--folder", folder)
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual((copied / "large.bin").read_bytes(), (folder / "large.bin").read_bytes())
        self.assertRegex(process.stderr, r"4 files, 3 of them already there, 5\.2 MB sent")
        self.assertEqual(list(copied.rglob("*.espalier-part")), [])
        self.assertEqual(self.hosts.await_quiet(), {})


class OfAUsers(LaunchScenario):
    """Tests user programs in a folder that is copied to each host's workspace. The workspace of the second host is not
    shared."""

    hidden = {1: "shared"}

    def setUp(self):
        super().setUp()
        self.graph = self.generate("--nodes", 3000, "--edges", 30000, "--features", 8, "--classes", 10, "--train", 0.5,
                                   "--seed", 3)

    def document(self, **changes):
        """Returns a job without spec.training."""
        return {"apiVersion": "espalier.io/v1alpha1", "kind": "DistTraining", "metadata": {"name": "own"},
                "spec": {"graph": {"source": {"uri": str(self.graph), "format": "NPY"},
                                   "partitions": {"count": 2, "algorithm": "METIS"}},
                         "trainers": {"replicas": 2, "threads": 1}, **changes}}

    def alone(self, document, *program):
        """Returns the result of the same program under `espalier run`."""
        process = espalier("run", "-f", self.write_job(document, "alone.json"), "--output", self.dir / "alone", "--",
                           *program, timeout=240)
        self.assertEqual(process.returncode, 0, process.stdout + process.stderr)
        return json.loads((self.dir / "alone/result.json").read_text())

    def launch_own(self, document, files, *program):
        """Launches the program on two hosts with copies of these files of the build, and returns its result."""
        folder = self.dir / "own"
        folder.mkdir()
        for name in files:
            shutil.copy(BIN / name, folder)
        process = self.launch("out", "--copy", "--workspace", self.shared / "work", "--env", f"TMPDIR={self.shared}",
                              "--folder", folder, "--", *program, document=document)
        self.assertEqual(process.returncode, 0, process.stderr)
        return self.result("out")

    def test_a_program_gives_the_numbers_of_one_machine(self):
        program = "espalier_example_training_loop"
        alone = self.alone(self.document(), BIN / program, 8)
        result = self.launch_own(self.document(), [program], f"own/{program}", 8)
        self.assertEqual(result["trainers"], 2)
        self.assertEqual(result["weightsDigest"], alone["weightsDigest"])
        self.assertEqual(result["testAccuracy"], alone["testAccuracy"])

    def test_own_rows_of_a_program_are_on_every_host(self):
        self.graph = self.dir / "cora-links"
        subprocess.run([sys.executable, str(SOURCE / "services/examples/cora_links.py"), str(self.graph)], check=True,
                       timeout=120)
        program = "espalier_example_link_embeddings"
        alone = self.alone(self.document(), BIN / program, "links", 3)
        result = self.launch_own(self.document(), [program], f"own/{program}", "links", 3)
        self.assertEqual(result["trainers"], 2)
        for numbers in ("losses", "rowsDigest", "endsCounted"):
            self.assertEqual(result[numbers], alone[numbers])

    def test_a_plugin_answers_on_every_host(self):
        program, plugin = "espalier_example_ask_degrees", "espalier_example_degrees.so"
        here = self.document(servers={"plugins": [{"name": "degrees", "path": str(BIN / plugin)}]})
        there = self.document(servers={"plugins": [{"name": "degrees", "path": f"own/{plugin}"}]})
        alone = self.alone(here, BIN / program)
        result = self.launch_own(there, [program, plugin], f"own/{program}")
        self.assertEqual(sum(alone["nodesByInDegree"].values()), 3000)
        for answer in ("nodesByInDegree", "largest"):
            self.assertEqual(result[answer], alone[answer])


class ThreeHosts(LaunchScenario):
    """Tests launches on three hosts. The launcher shares its folder with the first host only."""

    count = 3
    hidden = {1: "shared", 2: "shared"}

    def launch_apart(self, name, *args, **kwargs):
        process = self.launch(name, "--copy", "--env", f"TMPDIR={self.shared}", "--set", "training.epochs=1", *args,
                              **kwargs)
        self.assertEqual(process.returncode, 0, process.stderr)
        return process

    def test_an_earlier_copy_of_other_partitions_is_completed(self):
        three = ("--set", "graph.partitions.count=3")
        self.launch_apart("swapped", *three)
        digest = self.result("swapped")["parametersDigest"]
        # Each host has a manifest at the path of the original, and a partition that another host serves now.
        self.launch_apart("swapped", *three, hosts=["10.77.0.10", "10.77.0.12", "10.77.0.11"])
        self.assertEqual(self.result("swapped")["parametersDigest"], digest)

    def test_a_host_without_partitions_waits_with_the_others(self):
        process = self.launch_apart("idle", "--lost-seconds", 10)
        self.assertIn("copied partitions to 2 hosts", process.stderr)


if os.environ.get("ESPALIER_VERSITYGW"):  # CMakeLists.txt reports if it is not set
    class PartitionersOfABucket(LaunchScenario):
        ADDRESS = "10.77.0.1:7070"  # in the network namespace of the launcher, which no other process uses
        SECRET = "not-to-be-seen"

        def setUp(self):
            super().setUp()
            environment = unittest.mock.patch.dict(os.environ, s3_gateway.keys(self.SECRET))
            environment.start()
            self.addCleanup(environment.stop)
            (self.dir / "s3/bucket").mkdir(parents=True)
            self.inside = self.hosts.inside("l")
            s3_gateway.start(self, self.dir / "s3", self.ADDRESS, self.SECRET, self.inside)

        def test_partitioners_run_on_the_hosts(self):
            graph = self.generate("--nodes", 2000, "--edges", 20000, "--classes", 4, "--features", 8)
            for path in sorted(graph.iterdir()):
                s3_gateway.upload(path, f"http://{self.ADDRESS}/bucket/graph/{path.name}", self.SECRET, self.inside)
            settings = dict(graph__partitions={"count": 2, "algorithm": "Streaming"}, training__epochs=3,
                            trainers={"replicas": 2, "threads": 1})
            alone = self.run_job(job(graph, **settings), "alone", "--access", "rpc")
            document = job("s3://bucket/graph", partitioner={"replicas": 3}, **settings)
            document["spec"]["graph"]["partitions"]["uri"] = "s3://bucket/partitions"
            document["spec"]["storage"] = {"s3": {"endpoint": f"http://{self.ADDRESS}", "region": s3_gateway.REGION}}
            process = self.launch("out", "--logs", "--env", f"TMPDIR={self.shared}", *(
                flag for name in s3_gateway.keys("") for flag in ("--env", name)), document=document)
            self.assertEqual(process.returncode, 0, process.stderr)
            for line in "[10.77.0.11 partitioner-1] ", "[10.77.0.10 partitioner-2] ":
                self.assertIn(line, process.stderr)
            self.assertEqual(self.result("out")["parametersDigest"], alone["parametersDigest"])


if __name__ == "__main__":
    unittest.main()
