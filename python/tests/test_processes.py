"""Tests Python programs as the ranks of a job with two partitions, two servers and two ranks."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import unittest

import numpy as np

import espalier as ep
import graphs


def setUpModule():
    global folder
    folder = graphs.make_folder()


class Jobs(unittest.TestCase):
    def run_ranks(self, part, *flags, code=0, replicas=2):
        """Runs scripts/ranks.py to its end; returns (the output folder, the output of `espalier run`)."""
        output = folder / self.id().rpartition(".")[2] / part
        output.parent.mkdir(exist_ok=True)
        sets = [word for setting in (f"graph.source.uri={graphs.CORA}", "graph.source.format=OGB",
                                     "graph.partitions.count=2", f"trainers.replicas={replicas}",
                                     "runPolicy.backoffLimit=0") for word in ("--set", setting)]
        process = graphs.espalier("run", *sets, "--output", output, "--quiet", *flags, "--", sys.executable,
                                  graphs.SCRIPTS / "ranks.py", part)
        logs = "".join(log.read_text() for log in sorted((output / "logs").glob("trainer-*.log")))
        self.assertEqual(process.returncode, code, process.stdout + process.stderr + logs)
        return output, process.stdout + process.stderr

    def test_process_group(self):
        self.run_ranks("group_operations")
        self.run_ranks("gone")

    def test_process_group_of_three(self):
        self.run_ranks("group_operations", replicas=3)

    def test_an_error_of_a_checkpoint_reaches_all_ranks(self):
        self.run_ranks("checkpoint_errors")

    def test_shares_are_disjoint_and_cover_everything(self):
        self.run_ranks("shares")

    def test_tensors_of_another_rank(self):
        self.run_ranks("tensors")

    def test_access_by_mapping_and_by_rpc(self):
        batches = {}
        for access in ("mapped", "rpc"):
            output, _ = self.run_ranks("features", "--access", access)
            batches[access] = [json.loads((output / f"batches-{rank}.json").read_text()) for rank in range(2)]
            output.rename(output.with_name(access))
        self.assertEqual(batches["rpc"], batches["mapped"])
        self.assertEqual([len(of_rank) for of_rank in batches["rpc"]], [5, 5])

    def test_tls(self):
        self.run_ranks("tensors", "--tls")

    def test_an_error_of_the_library_ends_the_run_with_its_code(self):
        _, printed = self.run_ranks("not_found", code=65)
        self.assertIn("a split that the graph does not have", printed)


class Alone(unittest.TestCase):
    def test_a_group_of_one(self):
        g = ep.DistGraph(graphs.partition(graphs.CORA, "OGB", 2, folder))
        group = ep.init_process_group(g)
        self.assertEqual((group.rank, group.size), (0, 1))
        values = np.arange(5.0)
        group.all_reduce(values)
        group.broadcast(values)
        np.testing.assert_array_equal(values, np.arange(5))
        np.testing.assert_array_equal(group.all_gather(values), [np.arange(5)])
        group.barrier()


class Interrupts(unittest.TestCase):
    """Tests ranks without `espalier run`, one of which gets SIGINT."""

    def start_rank(self, rank, world_size, addresses, script, *args):
        environment = {**os.environ, "ESPALIER_SERVERS": ",".join(addresses), "ESPALIER_RANK": str(rank),
                       "ESPALIER_WORLD_SIZE": str(world_size), "ESPALIER_LOCAL_ADDRESS": "127.0.0.1"}
        process = subprocess.Popen([sys.executable, str(graphs.SCRIPTS / script), *map(str, args)], env=environment,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def servers(self):
        partitions = graphs.partition(graphs.CORA, "OGB", 2, folder)
        return self.enterContext(ep.serve(partitions)).addresses

    def await_file(self, path, *processes):
        deadline = time.monotonic() + 120
        while not path.exists():
            for process in processes:
                self.assertIsNone(process.poll(), "a rank has ended")
            self.assertLess(time.monotonic(), deadline, f"no {path}")
            time.sleep(0.01)

    def test_a_barrier(self):
        addresses = self.servers()
        ranks = [self.start_rank(rank, 2, addresses, "waiting_rank.py", folder) for rank in range(2)]
        for rank in range(2):
            self.await_file(folder / f"joined-{rank}", *ranks)
        began = time.monotonic()
        ranks[0].send_signal(signal.SIGINT)
        out, err = ranks[0].communicate(timeout=100)
        self.assertEqual(out, "interrupted 2708 2\nleft\n", err)
        self.assertRegex(err, r"KeyboardInterrupt\s*$")
        self.assertEqual(ranks[0].returncode, -signal.SIGINT)
        self.assertLess(time.monotonic() - began, 50)  # the timeout of the barrier is 200 s
        (folder / "end").write_text("")
        self.assertEqual(ranks[1].wait(100), 0)

    def test_joining_a_group(self):
        addresses = self.servers()
        rank = self.start_rank(1, 2, addresses, "ranks.py", "group_operations")
        self.assertIsNone(rank.poll())
        self.await_connection(rank)
        rank.send_signal(signal.SIGINT)
        _, err = rank.communicate(timeout=100)
        self.assertRegex(err, r"KeyboardInterrupt\s*$")

    def await_connection(self, process):
        """Waits until the process listens for other ranks; the process itself then waits for the address of rank 0."""
        deadline = time.monotonic() + 120
        while not self.listens(process.pid):
            self.assertIsNone(process.poll())
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)

    @staticmethod
    def listens(pid):
        sockets = set()
        for link in os.scandir(f"/proc/{pid}/fd"):
            try:
                found = re.fullmatch(r"socket:\[(\d+)\]", os.readlink(link.path))
            except OSError:
                continue
            if found:
                sockets.add(found[1])
        lines = []
        for table in ("tcp", "tcp6"):
            with open(f"/proc/{pid}/net/{table}", encoding="ascii") as file:
                lines += file.read().splitlines()[1:]
        return any(line.split()[3] == "0A" and line.split()[9] in sockets for line in lines)
