"""Tests graph servers that Python starts."""

import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest
from unittest import mock

import numpy as np

import espalier as ep
import graphs


def setUpModule():
    global folder, partitions, cora
    folder = graphs.make_folder()
    cora = graphs.Cora()
    partitions = graphs.partition(graphs.CORA, "OGB", 2, folder)


def has_ended(pid):
    return not pathlib.Path(f"/proc/{pid}").exists()


class ServeTest(unittest.TestCase):
    def check_labels(self, g):
        nodes = g.to_global_ids(np.arange(cora.num_nodes))
        np.testing.assert_array_equal(g.ndata["node-label"][nodes].reshape(-1), cora.labels)

    def test_a_graph_is_served_while_the_block_runs(self):
        with ep.serve(partitions) as servers:
            self.assertEqual(len(servers.addresses), 2)
            self.check_labels(servers.graph())
            self.check_labels(ep.DistGraph(servers=servers.addresses, environment={"ESPALIER_ACCESS": "rpc"}))
        self.assertEqual([process.returncode for process in servers.processes], [75, 75])
        with self.assertRaises(ep.Unavailable):
            ep.DistGraph(servers=servers.addresses, environment={"ESPALIER_CONNECT_SECONDS": "1"})

    def test_each_partition_has_a_server(self):
        for servers in (0, -1):
            with self.assertRaisesRegex(ep.InvalidArgument, "servers"), ep.serve(partitions, servers=servers):
                pass

    def test_each_partition_may_have_several_servers(self):
        with ep.serve(partitions, servers=2) as servers:
            self.assertEqual([address.count("|") for address in servers.addresses], [1, 1])
            self.assertEqual(len(servers.processes), 4)
            self.check_labels(servers.graph())

    def test_mutual_tls(self):
        with ep.serve(partitions, tls=True) as servers, mock.patch.dict(os.environ, ESPALIER_ACCESS="rpc"):
            self.check_labels(servers.graph())
            other_programs = ep.DistGraph(environment={**servers.environment, "ESPALIER_ACCESS": "rpc"})
            self.check_labels(other_programs)
            with self.assertRaises(ep.EspalierError):  # a client in plaintext is rejected
                ep.DistGraph(servers=servers.addresses, environment={"ESPALIER_CONNECT_SECONDS": "1"})
            key = pathlib.Path(servers.environment["ESPALIER_TLS_KEY"])
            self.assertEqual(key.parent.stat().st_mode & 0o077, 0)
        self.assertFalse(key.exists())

    def test_tls_settings_of_a_job_do_not_apply_to_these_servers(self):
        with mock.patch.dict(os.environ, ESPALIER_TLS_CA="/absent", ESPALIER_TLS_JOB="a/b"):
            with ep.serve(partitions) as servers:
                self.check_labels(servers.graph())

    def test_a_server_that_does_not_start_reports_its_error(self):
        with mock.patch.dict(os.environ, ESPALIER_PLUGINS="absent=/absent.so"):
            words = r"graph server of partition 0 ended with 65:\n(.*\n)*.*/absent.so"
            with self.assertRaisesRegex(ep.InvalidArgument, words) as caught:
                with ep.serve(partitions):
                    self.fail("the block was entered")
        self.assertEqual(caught.exception.exit_code, 65)

    def test_partitions_that_do_not_exist(self):
        with self.assertRaisesRegex(ep.InvalidArgument, "absent") as caught:
            with ep.serve(folder / "absent"):
                self.fail("the block was entered")
        self.assertEqual(caught.exception.exit_code, 65)

    def test_servers_that_are_not_ready_in_time(self):
        programs = folder / "slow-programs"
        programs.mkdir()
        (programs / "espalier").symlink_to(graphs.BIN / "espalier")
        slow = programs / "espalier-graph-server"
        slow.write_text("#!/bin/sh\nexec sleep 600\n")  # never ready
        slow.chmod(0o755)
        with mock.patch.dict(os.environ, ESPALIER_BIN=str(programs)):
            with self.assertRaisesRegex(ep.DeadlineExceeded, "partition 0 is not ready in time"):
                with ep.serve(partitions, timeout=0):
                    self.fail("the block was entered")

    def test_an_error_in_the_block_ends_the_servers(self):
        with self.assertRaises(KeyboardInterrupt):
            with ep.serve(partitions) as servers:
                raise KeyboardInterrupt
        for process in servers.processes:
            self.assertIsNotNone(process.returncode)

    def test_servers_end_with_the_process(self):
        program = f"import espalier as ep, time\nwith ep.serve({str(partitions)!r}) as servers:\n" \
                  "    print(*[process.pid for process in servers.processes], flush=True)\n    time.sleep(600)\n"
        parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
        pids = parent.stdout.readline().split()
        self.assertEqual(len(pids), 2)
        parent.send_signal(signal.SIGKILL)
        parent.communicate()
        deadline = time.monotonic() + 60
        while not all(map(has_ended, pids)):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)


if __name__ == "__main__":
    unittest.main()
