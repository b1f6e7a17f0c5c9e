"""Scenarios in which a job runs on machines over ssh: `espalier launch` on the hosts of ssh_hosts.py."""

import json
import os
import pathlib
import subprocess
import tempfile
import time
import unittest

from harness import BIN, CORA, Scenario, job
from ssh_hosts import SshHosts, reason_against

EPOCHS = 12


def cora(**changes):
    settings = dict(training__task={"type": "NodeClassification", "label": "node-label", "split": "public"},
                    training__batchSize=16, training__epochs=EPOCHS, training__evaluation={
                        "everyEpochs": 6, "metric": "Accuracy", "neighborhood": "Full"},
                    graph__preprocess={"normalizeFeatures": "Row"}, trainers={"replicas": 2, "threads": 1},
                    samplers={"replicas": 1}, checkpoint={"every": {"steps": 10}, "keep": 2},
                    output={"save": ["Model"]}, runPolicy={"backoffLimit": 5})
    return job(CORA, "OGB", **{**settings, **changes})


def setUpModule():
    """Skips the tests of a module if such hosts cannot run here. Every module of such scenarios imports this
    function."""
    # ssh does not pass environment variables on, so variables that choose the math library's kernels would have an
    # effect only on this machine.
    for name in [name for name in os.environ if name.startswith(("MKL_", "ONEDNN_"))]:
        del os.environ[name]
    with tempfile.TemporaryDirectory(prefix="espalier-ssh-") as folder:
        reason = reason_against(pathlib.Path(folder) / "probe")
    if reason:
        raise unittest.SkipTest(reason)


class LaunchScenario(Scenario):
    count = 2
    hidden = {}
    undisturbed = None

    def setUp(self):
        super().setUp()
        self.shared = self.dir / "shared"
        self.shared.mkdir()
        hidden = {host: self.dir / name for host, name in self.hidden.items()}
        self.hosts = SshHosts(self.dir / "ssh", self.count, hidden)
        self.addCleanup(self.hosts.stop)
        self.hosts.start()

    def digest(self):
        """Returns the digest of the parameters of the same job under `espalier run`, computed once."""
        if LaunchScenario.undisturbed is None:
            LaunchScenario.undisturbed = self.run_job(cora(), "alone", "--access", "rpc")["parametersDigest"]
        return LaunchScenario.undisturbed

    def command(self, name, *args, document=None, key="user", hosts=None):
        path = self.write_job(document or cora(), name + ".json")
        return self.hosts.inside("l", BIN / "espalier", "launch", "--hosts", self.hosts.write_hosts(hosts), "-f", path,
                                 "--output", self.shared / name, *self.hosts.flags(key), *args)

    def launch(self, name, *args, timeout=300, **kwargs):
        """Launches a job, waits for its end, and expects that nothing runs on any host afterwards."""
        process = subprocess.run(self.command(name, *args, **kwargs), capture_output=True, text=True, timeout=timeout,
                                 stdin=subprocess.DEVNULL, check=False)
        self.assertEqual(self.hosts.await_quiet(), {}, process.stderr)
        return process

    def result(self, name):
        return json.loads((self.shared / name / "result.json").read_text())

    def begin(self, name, steps, *args, **kwargs):
        """Starts a launch with slow trainers, and waits until it has a checkpoint of step `steps` or a later one."""
        log = open(self.dir / f"{name}.log", "w+", encoding="utf-8")
        self.addCleanup(log.close)
        process = subprocess.Popen(self.command(name, *args, **kwargs), stdout=log, stderr=log,
                                   stdin=subprocess.DEVNULL,
                                   env={**os.environ, "ESPALIER_FAILPOINTS_TRAINER": "trainer.step=delay:100ms"})
        self.addCleanup(process.kill)
        deadline = time.monotonic() + 200
        while not self.checkpoint_at(name, steps):
            self.assertIsNone(process.poll(), pathlib.Path(log.name).read_text())
            self.assertLess(time.monotonic(), deadline, f"no checkpoint at step {steps}")
            time.sleep(0.02)
        return process, pathlib.Path(log.name)

    def checkpoint_at(self, name, steps):
        numbers = [int(path.parent.name.split("-")[1])
                   for path in (self.shared / name / "checkpoints").glob("*/manifest.json")]
        return max(numbers, default=-1) >= steps

    def pid_of(self, name, child):
        """Waits until the host has reported the child's process id, and returns it."""
        deadline = time.monotonic() + 60
        while True:
            processes = json.loads((self.shared / name / "run/state.json").read_text())["processes"]
            if child in processes:
                return processes[child]
            self.assertLess(time.monotonic(), deadline, f"no {child} among {processes}")
            time.sleep(0.02)
