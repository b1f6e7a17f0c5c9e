"""Tests exceptions: their classes, their messages, and the end of a program with one."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import numpy as np

import espalier as ep
import graphs

TRAIN = ep.NodesOfSplit("public", "train")


def setUpModule():
    global folder, partitions, g
    folder = graphs.make_folder()
    partitions = graphs.partition(graphs.CORA, "OGB", 2, folder)
    g = ep.DistGraph(partitions)


class Classes(unittest.TestCase):
    """Each exception is also a subclass of the built-in exception for its kind."""

    def check(self, call, error, base, words):
        with self.assertRaisesRegex(error, words) as caught:
            call()
        self.assertIsInstance(caught.exception, base)
        self.assertIsInstance(caught.exception, ep.EspalierError)

    def test_invalid_argument(self):
        self.check(lambda: ep.DistGraph(environment={}), ep.InvalidArgument, ValueError, "ESPALIER_SERVERS")
        self.check(lambda: g.split_nodes("public", "valid"), ep.InvalidArgument, ValueError, "train, validation")
        self.check(lambda: ep.sample_neighbors(g, [2708], 1), ep.InvalidArgument, ValueError, "2708")

    def test_not_found(self):
        self.check(lambda: ep.DistGraph("/nowhere/at/all"), ep.NotFound, LookupError, "/nowhere/at/all.*manifest.json")
        self.check(lambda: g.ndata["feat"], ep.NotFound, LookupError, "'feat'.*node-feat")
        self.check(lambda: g.split_nodes("random"), ep.NotFound, LookupError, "'random'.*'public'")

    def test_out_of_range(self):
        self.check(lambda: g.to_global_ids([3, 2708]), ep.OutOfRange, IndexError, "2708")

    def test_already_exists(self):
        ep.DistTensor.create(g, 3, name="taken", persistent=True)
        self.check(lambda: ep.DistTensor.create(g, 4, name="taken"), ep.AlreadyExists, ValueError, "taken")

    def test_failed_precondition(self):
        self.check(lambda: ep.DistNodeDataLoader(g, TRAIN, ep.NeighborSampler([1]), batch_size=4, from_samplers=True),
                   ep.FailedPrecondition, RuntimeError, "ESPALIER_SAMPLERS")

    def test_unimplemented(self):
        self.check(lambda: g.call_function("plugin/function"), ep.Unimplemented, NotImplementedError, "plugin")

    def test_data_loss(self):
        damaged = folder / "damaged"
        subprocess.run(["cp", "-r", partitions, damaged], check=True)
        manifest = damaged / "manifest.json"
        manifest.write_text(manifest.read_text()[:-20])
        with self.assertRaises((ep.DataLoss, ep.InvalidArgument)) as caught:
            ep.DistGraph(damaged)
        self.assertIn("manifest.json", str(caught.exception))
        self.assertEqual(caught.exception.exit_code, 65)

    def test_an_unreachable_server(self):
        began = time.monotonic()
        address = f"127.0.0.1:{graphs.closed_port()}"
        with self.assertRaises((ep.Unavailable, ep.DeadlineExceeded)) as caught:
            ep.DistGraph(servers=address, environment={"ESPALIER_CONNECT_SECONDS": "1"})
        self.assertIsInstance(caught.exception, (ConnectionError, TimeoutError))
        self.assertIn(address, str(caught.exception))
        self.assertEqual(caught.exception.exit_code, 74)
        self.assertLess(time.monotonic() - began, 30)

    def test_a_server_that_does_not_answer(self):
        with ep.serve(partitions) as servers:
            environment = {"ESPALIER_ACCESS": "rpc", "ESPALIER_CALL_SECONDS": "1"}
            served = ep.DistGraph(servers=servers.addresses, environment=environment)
            for server in servers.processes:
                server.send_signal(signal.SIGSTOP)
            self.check(lambda: served.in_degrees([0, 2700]), ep.DeadlineExceeded, TimeoutError, "")
            for server in servers.processes:
                server.send_signal(signal.SIGCONT)
            self.assertEqual(len(served.in_degrees([0, 2700])), 2)

    def test_codes(self):
        classes = ep.EspalierError.__subclasses__()
        self.assertEqual(len({error.code for error in classes}), len(classes))
        expected = {64: [ep.Unimplemented],
                    65: [ep.InvalidArgument, ep.NotFound, ep.AlreadyExists, ep.OutOfRange, ep.FailedPrecondition,
                         ep.DataLoss],
                    70: [ep.Internal], 74: [ep.Unavailable, ep.DeadlineExceeded, ep.ResourceExhausted, ep.Aborted],
                    75: [ep.Cancelled], 77: [ep.PermissionDenied, ep.Unauthenticated]}
        self.assertEqual(sum(map(len, expected.values())), len(classes))
        for code, errors in expected.items():
            for error in errors:
                self.assertEqual(error("x").exit_code, code, error)
        for error, base in ((ep.PermissionDenied, PermissionError), (ep.Unauthenticated, PermissionError),
                            (ep.DataLoss, OSError), (ep.ResourceExhausted, MemoryError)):
            self.assertTrue(issubclass(error, base), error)


class Arguments(unittest.TestCase):
    def test_dtypes_of_ids(self):
        for ids, words in (([0.5], "float64"), (np.ones(2708, bool), "bool"), (["a"], "<U1"), (None, "object"),
                           (np.array([2 ** 63], np.uint64), "9223372036854775808"), ([[0, 1]], r"\(1, 2\)")):
            for call in (lambda: g.ndata["node-label"][ids], lambda: g.in_degrees(ids), lambda: g.find_edges(ids),
                         lambda: ep.sample_neighbors(g, ids, 2), lambda: ep.random_walk(g, ids, ["edge"]),
                         lambda: ep.DistNodeDataLoader(g, ids, ep.NeighborSampler([2]), batch_size=2)):
                with self.assertRaisesRegex(ep.InvalidArgument, words):
                    call()

    def test_negative_ids(self):
        for call in (lambda: g.ndata["node-label"][[3, -1]], lambda: g.to_global_ids([3, -1]),
                     lambda: g.find_edges([3, -1]), lambda: g.in_degrees([3, -1]), lambda: g.out_degrees([3, -1]),
                     lambda: ep.sample_neighbors(g, [3, -1], 2), lambda: ep.in_subgraph(g, [3, -1]),
                     lambda: g.edge_subgraph([3, -1]), lambda: ep.random_walk(g, [3, -1], ["edge"]),
                     lambda: g.get_partition_book().nid2partid([3, -1]), lambda: ep.node_split(np.array([3, -1]), g),
                     lambda: ep.DistNodeDataLoader(g, [3, -1], ep.NeighborSampler([2]), batch_size=2)):
            with self.assertRaisesRegex(ep.InvalidArgument, "id -1 at position 1 is negative"):
                call()

    def test_ids_that_do_not_exist(self):
        for call in (lambda: g.ndata["node-label"][[3, 2708]], lambda: g.in_degrees([3, 2708]),
                     lambda: g.out_degrees([3, 2708]), lambda: ep.in_subgraph(g, [3, 2708]),
                     lambda: ep.random_walk(g, [3, 2708], ["edge"]), lambda: g.to_original_ids([3, 2708]),
                     lambda: ep.DistNodeDataLoader(g, [3, 2708], ep.NeighborSampler([2]), batch_size=2)):
            with self.assertRaisesRegex(ep.InvalidArgument, "2708"):
                call()
        for call in (lambda: g.find_edges([10556]), lambda: g.edge_subgraph([10556]),
                     lambda: ep.DistEdgeDataLoader(g, [10556], ep.NeighborSampler([2]), batch_size=2)):
            with self.assertRaisesRegex(ep.InvalidArgument, "10556"):
                call()

    def test_options_of_loaders(self):
        sampler = ep.NeighborSampler([2])
        for call in (lambda: ep.DistNodeDataLoader(g, TRAIN, sampler, batch_size=0),
                     lambda: ep.DistNodeDataLoader(g, TRAIN, sampler, batch_size=-1),
                     lambda: ep.DistNodeDataLoader(g, TRAIN, sampler, batch_size=2.5),
                     lambda: ep.DistNodeDataLoader(g, TRAIN, sampler, batch_size=4, seed=-1),
                     lambda: ep.DistNodeDataLoader(g, TRAIN, sampler, batch_size=4, num_threads=0),
                     lambda: ep.DistNodeDataLoader(g, TRAIN, ep.NeighborSampler([2.5]), batch_size=4),
                     lambda: ep.negative_sampler.Uniform(-1), lambda: ep.sample_neighbors(g, [0], 2, seed=-1),
                     lambda: ep.DistNodeDataLoader(g, ep.NodesOfSplit("public", "all"), sampler, batch_size=4),
                     lambda: ep.DistNodeDataLoader(g, TRAIN, ep.NeighborSampler([-2]), batch_size=4),
                     lambda: ep.DistNodeDataLoader(g, TRAIN, ep.NeighborSampler([2], expand="Twice"), batch_size=4),
                     lambda: ep.DistNodeDataLoader(g, TRAIN, ep.NeighborSampler([], prefetch_labels="x"), batch_size=4),
                     lambda: ep.NeighborSampler([2], edge_dir="out")):
            with self.assertRaises(ep.InvalidArgument):
                call()
        for call in (lambda: ep.DistNodeDataLoader(g, ep.NodesOfSplit("random"), sampler, batch_size=4),
                     lambda: ep.DistEdgeDataLoader(g, ep.EdgesOfSplit("links"), sampler, batch_size=4),
                     lambda: ep.DistEdgeDataLoader(g, [0], sampler, batch_size=4, edge_columns=["weight"])):
            with self.assertRaises(ep.NotFound):
                call()


class Processors(unittest.TestCase):
    def test_a_processor_without_avx2_is_refused_with_a_message(self):
        with tempfile.TemporaryDirectory() as name:
            cpuinfo = pathlib.Path(name) / "cpuinfo"
            cpuinfo.write_text("processor\t: 0\nflags\t\t: fpu sse4_2 avx fma\n")
            with self.assertRaisesRegex(ImportError, "AVX2.*lacks avx2, bmi2;"):
                ep.processor.check(cpuinfo)
            cpuinfo.write_text("flags\t\t: fpu avx2 bmi2 fma\n")
            ep.processor.check(cpuinfo)
            ep.processor.check(cpuinfo.with_name("missing"))


class Forks(unittest.TestCase):
    def test_a_child_cannot_use_the_graph_and_its_parent_can(self):
        with ep.serve(partitions) as servers:
            served = ep.DistGraph(servers=servers.addresses, environment={"ESPALIER_ACCESS": "rpc"})
            loader = ep.DistNodeDataLoader(served, TRAIN, ep.NeighborSampler([2]), batch_size=70)
            tensor = ep.DistTensor.create(served, 4, name="zeros", persistent=True)
            self.assertEqual(len(list(loader)), 2)
            for _ in range(2):
                child = os.fork()
                if child == 0:
                    os._exit(self.in_child(served, loader, tensor, servers.addresses))
                self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
                self.assertEqual(len(served.in_degrees([0, 2700])), 2)
                self.assertEqual(len(list(loader)), 2)
                self.assertEqual(tensor.sum(), 0)

    @staticmethod
    def in_child(served, loader, tensor, addresses):
        """Returns 0, or the number of the first call that is not rejected."""
        calls = (lambda: served.in_degrees([0, 2700]), lambda: next(iter(loader)), lambda: tensor[[0]],
                 lambda: ep.DistGraph(servers=addresses, environment={}))
        for number, call in enumerate(calls, 1):
            try:
                call()
                return number
            except ep.FailedPrecondition as error:
                if "fork" not in str(error):
                    return 10 + number
            except BaseException:  # the child must not return to the test
                return 20 + number
        return 0


class Programs(unittest.TestCase):
    def run_python(self, program, **environment):
        return subprocess.run([sys.executable, "-c", program, str(partitions)], capture_output=True, text=True,
                              timeout=120, stdin=subprocess.DEVNULL, cwd=pathlib.Path(__file__).parent,
                              env={**os.environ, **environment})

    def test_exit_codes(self):
        open_graph = "import sys, espalier as ep; g = ep.DistGraph(sys.argv[1]); "
        closed = f"127.0.0.1:{graphs.closed_port()}"
        for code, program, words in (
                (65, "import espalier as ep; ep.DistGraph('/nowhere')", "espalier.errors.NotFound: .*/nowhere"),
                (65, open_graph + "g.to_global_ids([9999])", "OutOfRange: .*9999"),
                (64, open_graph + "g.call_function('a/b')", "Unimplemented: .*a/b"),
                (74, f"import espalier as ep; ep.DistGraph(servers='{closed}')", closed),
                (77, "import espalier as ep; raise ep.PermissionDenied('not yours')", "PermissionDenied: not yours"),
                (70, "import espalier as ep; raise ep.Internal('a bug')", "Internal: a bug"),
                (1, open_graph + "raise ValueError('own')", "ValueError: own"),
                (0, open_graph + "print(g)", "^$"), (3, open_graph + "sys.exit(3)", "^$")):
            with self.subTest(program=program):
                process = self.run_python(program, ESPALIER_CONNECT_SECONDS="1")
                self.assertEqual(process.returncode, code, process.stderr)
                self.assertRegex(process.stderr, words)
                self.assertEqual("Traceback" in process.stderr, code not in (0, 3))
                self.assertNotIn("SystemExit", process.stderr)
                self.assertNotIn("leak", process.stderr)

    def test_exit_codes_of_a_rank(self):
        """Tests also errors before the import of espalier. The termination message has the error and its place in the
        script."""
        with tempfile.TemporaryDirectory() as name:
            script, words = pathlib.Path(name) / "train.py", pathlib.Path(name) / "last-words"
            for code, program, message in (
                    (64, "import a_module_that_is_not_there", "ModuleNotFoundError: .*a_module_that.*train.py, line 1"),
                    (64, "pass\nx = = 1\n", "(?s)SyntaxError: .*"),
                    (65, "import espalier as ep\nep.DistGraph('/nowhere')", "NotFound: .*/nowhere.*train.py, line 2"),
                    (70, "import espalier\nraise ValueError('own')", "ValueError: own .train.py, line 2"),
                    (74, "import espalier\nraise MemoryError('no room')", "MemoryError: no room"),
                    (3, "import sys; sys.exit(3)", None), (0, "import sys; assert sys.argv == [__file__, 'x']", None)):
                with self.subTest(program=program):
                    script.write_text(program)
                    words.unlink(missing_ok=True)
                    process = subprocess.run(
                        [sys.executable, "-m", "espalier", script, "x"], capture_output=True, text=True, timeout=120,
                        env={**os.environ, "ESPALIER_RANK": "0", "ESPALIER_TERMINATION_LOG": str(words)})
                    self.assertEqual(process.returncode, code, process.stderr)
                    self.assertEqual(words.exists(), message is not None)
                    if message is not None:
                        left = json.loads(words.read_text())
                        self.assertEqual(left["exitCode"], code)
                        self.assertRegex(left["message"], message)
                        self.assertIn("Traceback" if code != 64 or "there" in program else "SyntaxError", process.stderr)

    def test_sigterm_while_a_stopped_program_ends_does_not_change_its_exit_code(self):
        """Ranks stop together, and a rank may receive its own SIGTERM while it ends."""
        program = """
import atexit, os, signal, sys, tempfile, espalier as ep
def get_sigterm():
    os.kill(os.getpid(), signal.SIGTERM)
g = ep.DistGraph(sys.argv[1])
group = ep.init_process_group(g)
atexit.register(lambda: [get_sigterm() for _ in range(3)])
with tempfile.TemporaryDirectory() as folder:
    ep.checkpoint.stop_if_asked(g, group, folder)
    get_sigterm()
    ep.checkpoint.stop_if_asked(g, group, folder)
"""
        process = self.run_python(program)
        self.assertEqual(process.returncode, 75, process.stderr)

    def test_imports_in_both_orders(self):
        use = "; g = ep.DistGraph(sys.argv[1]); print(int(g.ndata['node-label'][np.arange(3)].sum() >= 0), np.ones(2))"
        for imports in ("import sys; import numpy as np; import espalier as ep", "import sys; import espalier as ep; "
                        "import numpy as np"):
            process = self.run_python(imports + use)
            self.assertEqual((process.returncode, process.stdout), (0, "1 [1. 1.]\n"), process.stderr)
            self.assertEqual(process.stderr, "")

    def test_a_program_may_end_while_batches_are_sampled(self):
        program = """
import sys, espalier as ep
g = ep.DistGraph(sys.argv[1])
loader = ep.DistNodeDataLoader(g, ep.NodesOfSplit("public"), ep.NeighborSampler([9, 9]), batch_size=9, num_threads=2)
batches = iter(loader)
batch = next(batches)
kept = batch.blocks[0].csc()
tensor = ep.DistTensor.create(g, 5)
"""
        for ending, code in ("", 0), ("raise ep.NotFound('x')", 65), ("sys.exit(4)", 4):
            process = self.run_python(program + ending)
            self.assertEqual(process.returncode, code, process.stderr)
            self.assertNotIn("leak", process.stderr)
