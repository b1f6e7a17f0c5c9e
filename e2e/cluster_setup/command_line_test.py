"""The effects of e2e/cluster on an existing cluster, and the lock of a cluster."""

import argparse
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

from cluster_setup import command_line
from cluster_setup.state import SetupError


class ClusterTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name) / "cluster"
        self.cluster = types.SimpleNamespace(name="none", folder=self.folder, logs=self.folder / "log", settings=None,
                                             write_settings=lambda **_: None, node_names=[])


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
                command_line.up(self.cluster, argparse.Namespace(nodes=2))
        return remove.called

    def test_what_was_started_does_not_stay(self):
        self.assertTrue(self.removed_by_a_failing_up(None))

    def test_a_cluster_that_was_there_does(self):
        self.assertFalse(self.removed_by_a_failing_up({"nodes": 2}))


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
    def test_it_ends_on_sigterm_where_a_shell_has_made_it_ignore_ctrl_c(self):
        program = ("import os, signal, sys\n"
                   "from cluster_setup import command_line\n"
                   "command_line.check = lambda *_: os.kill(os.getpid(), signal.SIGTERM)\n"
                   "sys.exit(command_line.main(['check'], ''))")
        ended = subprocess.run([sys.executable, "-c", program], timeout=30, stdin=subprocess.DEVNULL, capture_output=True,
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
        self.assertEqual(ended.returncode, command_line.INTERRUPTED_STATUS, ended.stderr)


if __name__ == "__main__":
    unittest.main()
