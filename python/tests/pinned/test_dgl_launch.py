"""Runs scripts of DGL's user guide as ranks on two machines over ssh. The machines are network namespaces, as in
scenario.launch."""

import json
import os
import pathlib
import subprocess
import sys
import unittest

import espalier as ep
import graphs
from test_dgl_scripts import CHAPTER, DATA, HERE, job, result_in, run

sys.path.append(str(graphs.SOURCE / "services/tests/scenarios"))
from ssh_hosts import SshHosts, reason_against  # noqa: E402


class Launched(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = graphs.make_folder()
        if reason := reason_against(cls.folder / "probe"):
            raise unittest.SkipTest(reason)
        cls.hosts = SshHosts(cls.folder / "ssh")
        cls.addClassCleanup(cls.hosts.stop)
        cls.hosts.start()

    def launch(self, name, script, *arguments):
        """Runs a script as the ranks of a job, one on each machine; returns the folder of logs."""
        document, output = self.folder / f"{name}.json", self.folder / name
        document.write_text(json.dumps(job()))
        variables = {"PYTHONPATH": os.environ["PYTHONPATH"], "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "eth0"}
        command = [ep.programs.path(), "launch", "--hosts", self.hosts.write_hosts(), "-f", document, "--output", output,
                   *self.hosts.flags(), *(f"--env={name}={value}" for name, value in variables.items()),
                   "--", sys.executable, HERE / script, *arguments]
        process = subprocess.run(self.hosts.inside("l", *command), capture_output=True, text=True, timeout=300,
                                 stdin=subprocess.DEVNULL)
        self.assertEqual(process.returncode, 0, process.stdout + process.stderr)
        return output / "logs"

    @unittest.skipUnless(DATA, "ESPALIER_TEST_DATA is not set")
    def test_the_chapters_example_matches_one_machine(self):
        arguments = "chapter.py", CHAPTER / "node_classification.py", 2, 1
        launched = result_in((self.launch("chapter", *arguments) / "trainer-0.log").read_text())
        self.assertEqual(launched["ranks"], 2)
        self.assertEqual(launched, result_in(run(self.folder / "here", HERE / arguments[0], *arguments[1:])))

    def test_a_loader_samples_the_same_on_two_machines(self):
        digests = []
        for start in (lambda audits: self.launch("audited", "audited.py", audits, 2, 32, 7),
                      lambda audits: run(self.folder / "audited-here", HERE / "audited.py", audits, 2, 32, 7)):
            audits = self.folder / f"audits-{len(digests)}"
            audits.mkdir()
            start(audits)
            digests.append(ep.audit.samples_digest(sorted(audits.iterdir())))
        self.assertEqual(*digests)


if __name__ == "__main__":
    unittest.main()
