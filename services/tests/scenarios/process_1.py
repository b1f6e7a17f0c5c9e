"""Tests a trainer as process 1 of a container. The kernel drops signals to process 1 for which it has no handler."""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import time

from harness import BIN, CORA, Scenario, job

SECONDS = 60
AS_ROOT = [] if os.geteuid() == 0 else ["--map-root-user"]
ALONE = ["unshare", *AS_ROOT, "--pid", "--fork", "--kill-child"]

# The trainer's first stage sets OMP_WAIT_POLICY only if it is not set, and the test presets set it.
WITHOUT_WAIT_POLICY = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}

# Replaces espalier-trainer-process. Its libraries count as loaded when the test creates the file `loaded`; it then
# prints what it finds.
SLOWLY_LOADED = f"""#!{sys.executable}
import os, pathlib, signal, sys, time
folder = pathlib.Path(sys.argv[1])
(folder / "begun").touch()
while not (folder / "loaded").exists():
    time.sleep(0.01)
held = signal.sigpending()
print(os.getpid(), signal.SIGTERM in held, os.environ["OMP_WAIT_POLICY"], *sys.argv[2:])
"""


class Process1(Scenario):
    def setUp(self):
        super().setUp()
        if subprocess.run([*ALONE, "true"], capture_output=True, check=False, timeout=SECONDS).returncode != 0:
            self.skipTest("no process namespaces here")

    def spawn(self, *command):
        process = subprocess.Popen([*map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   stdin=subprocess.DEVNULL, env=WITHOUT_WAIT_POLICY)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def signal_process_1(self, process):
        """Sends SIGTERM to the process that `unshare` has started."""
        children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        os.kill(int(children[0]), signal.SIGTERM)

    def begin_slowly(self, *before):
        """Starts the trainer's first stage, and returns while the second stage is being loaded."""
        shutil.copy(BIN / "espalier-trainer", self.dir / "trainer")
        second = self.dir / "trainer-process"
        second.write_text(SLOWLY_LOADED)
        second.chmod(0o755)
        process = self.spawn(*before, self.dir / "trainer", self.dir, "--rank", "1")
        deadline = time.monotonic() + SECONDS
        while not (self.dir / "begun").exists():
            self.assertIsNone(process.poll(), process.stderr.read() if process.poll() is not None else "")
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        return process

    def test_sigterm_waits_for_the_libraries(self):
        process = self.begin_slowly(*ALONE)
        self.signal_process_1(process)
        (self.dir / "loaded").touch()
        out, log = process.communicate(timeout=SECONDS)
        self.assertEqual((process.returncode, out), (0, "1 True passive --rank 1\n"), log)

    def test_as_another_process_sigterm_ends_it_at_once(self):
        process = self.begin_slowly()
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=SECONDS)
        self.assertEqual(process.returncode, -signal.SIGTERM)

    def test_the_trainer_handles_sigterm(self):
        document = self.write_job(job(CORA, graph__partitions__count=1))
        with socket.create_server(("127.0.0.1", 0)) as silent:
            silent.settimeout(SECONDS)
            process = self.spawn(*ALONE, BIN / "espalier-trainer", "--job", document, "--servers",
                                 "127.0.0.1:%d" % silent.getsockname()[1], "--connect-seconds", 3600)
            connection, _ = silent.accept()
            with connection:  # the trainer is loaded, has sent its first request, and gets no response
                self.signal_process_1(process)
                _, log = process.communicate(timeout=SECONDS)
                self.assertEqual(process.returncode, 75, log)

    def test_a_missing_second_stage_is_reported(self):
        shutil.copy(BIN / "espalier-trainer", self.dir / "trainer")
        process = self.spawn(self.dir / "trainer")
        _, log = process.communicate(timeout=SECONDS)
        self.assertEqual(process.returncode, 70, log)
        self.assertIn(f"starting {self.dir}/trainer-process: No such file or directory", log)
