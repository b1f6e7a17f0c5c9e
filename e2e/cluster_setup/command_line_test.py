"""The effects of e2e/cluster on an existing cluster, and the lock of a cluster."""

import argparse
import collections
import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import types
import unittest
from unittest import mock

from cluster_setup import command_line, control_plane, tools
from cluster_setup.state import Cluster, SetupError


class ClusterTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name) / "cluster"
        self.cluster = types.SimpleNamespace(name="none", folder=self.folder, logs=self.folder / "log", settings=None,
                                             kubernetes="default", write_settings=lambda **_: None, node_names=[])


class UpTest(ClusterTest):
    def removed_by_a_failing_up(self, settings):
        self.cluster.settings = settings
        with contextlib.ExitStack() as stack:
            for name in ("tools", "images", "say"):
                stack.enter_context(mock.patch.object(command_line, name))
            command_line.images.ensure.return_value = "tag", []
            remove = stack.enter_context(mock.patch.object(command_line.teardown, "remove"))
            stack.enter_context(mock.patch.object(command_line.certificates, "ensure", side_effect=KeyboardInterrupt))
            with self.assertRaises(KeyboardInterrupt):
                command_line.up(self.cluster, argparse.Namespace(nodes=2, kubernetes="default"))
        return remove.called

    def test_a_started_cluster_is_removed(self):
        self.assertTrue(self.removed_by_a_failing_up(None))

    def test_an_existing_cluster_is_kept(self):
        self.assertFalse(self.removed_by_a_failing_up({"nodes": 2}))

    def test_another_kubernetes_is_refused(self):
        self.cluster.settings = {"nodes": 2}
        with mock.patch.object(command_line.tools, "check_machine"), self.assertRaises(SetupError) as refused:
            command_line.up(self.cluster, argparse.Namespace(nodes=2, kubernetes="newest"))
        self.assertEqual(str(refused.exception), "cluster none exists with --kubernetes default: run e2e/cluster down first")


class KubernetesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.enterContext(mock.patch.dict(os.environ, {"TMPDIR": folder.name}))

    def started(self, **settings):
        """Returns {program: its arguments} of the API server, the controller manager and the scheduler of a cluster."""
        cluster = Cluster("none")
        cluster.write_settings(**settings)
        commands = {}
        with mock.patch.object(control_plane, "wait_until"), mock.patch.object(
                control_plane.Program, "start", lambda program, _, command, __: commands.update({program.name: command[1:]})):
            plane = control_plane.ControlPlane(cluster, collections.defaultdict(str))
            plane._ensure_api_server()
            plane._ensure_controllers()
        return commands

    def test_only_the_newest_has_pod_groups(self):
        names = {"apiserver", "controller-manager", "scheduler"}
        for settings in ({}, {"kubernetes": "default"}):
            started = self.started(**settings)
            self.assertEqual(set(started), names)
            self.assertFalse([flag for flags in started.values() for flag in flags
                              if str(flag).startswith(("--feature-gates", "--runtime-config"))])
        started = self.started(kubernetes="newest")
        for name in names:
            self.assertIn("--feature-gates=GenericWorkload=true", started[name])
        self.assertIn("--runtime-config=scheduling.k8s.io/v1beta1=true", started["apiserver"])

    def test_each_kubernetes_has_its_own_programs_and_shares_the_others(self):
        with mock.patch.object(tools, "_build", lambda name: name):
            self.assertEqual([str(place) for place in tools.folders("default")],
                             ["kube", "node", "s3", "helm", "prometheus"])
            self.assertEqual([str(place) for place in tools.folders("newest")],
                             ["kube-newest", "node-newest", "s3", "helm", "prometheus"])


class AloneTest(ClusterTest):
    def test_a_second_command_is_refused(self):
        with command_line._alone(self.cluster), self.assertRaisesRegex(SetupError, "another command"):
            with command_line._alone(self.cluster):
                self.fail("two at once")

    def test_a_lock_on_a_removed_file_does_not_block(self):
        """One command removes the cluster and the lock file, a second one has opened the file, a third creates it again."""
        path = self.folder.with_name(self.folder.name + ".lock")
        real = os.fstat

        def replaced(descriptor):
            seen = real(descriptor)
            path.unlink()
            path.touch()
            return seen

        with mock.patch.object(command_line.os, "fstat", replaced), self.assertRaises(SetupError):
            with command_line._alone(self.cluster):
                self.fail("a lock on nothing")


class SignalTest(unittest.TestCase):
    def test_it_ends_on_sigterm_if_sigint_is_ignored(self):
        program = ("import os, signal, sys\n"
                   "from cluster_setup import command_line\n"
                   "command_line.check = lambda *_: os.kill(os.getpid(), signal.SIGTERM)\n"
                   "sys.exit(command_line.main(['check'], ''))")
        ended = subprocess.run([sys.executable, "-c", program], timeout=30, stdin=subprocess.DEVNULL, capture_output=True,
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
        self.assertEqual(ended.returncode, command_line.INTERRUPTED_STATUS, ended.stderr)


if __name__ == "__main__":
    unittest.main()
