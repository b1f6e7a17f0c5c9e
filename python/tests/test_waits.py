"""Tests waits that end early and their effects: interrupted and cancelled epochs, memory."""

import concurrent.futures
import contextlib
import os
import signal
import threading
import time
import unittest

import numpy as np

import espalier as ep
import graphs

PAGE = os.sysconf("SC_PAGE_SIZE")
TRAIN = ep.NodesOfSplit("public", "train")


def setUpModule():
    global cora, partitions
    folder = graphs.make_folder()
    cora, partitions = graphs.Cora(), graphs.partition(graphs.CORA, "OGB", 2, folder)


def resident_bytes():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * PAGE


class Waits(unittest.TestCase):
    """Tests with the graph of stopped servers, for which calls wait until the servers continue."""

    def setUp(self):
        previous = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in a shell's background jobs
        self.addCleanup(signal.signal, signal.SIGINT, previous)
        served = self.enterContext(ep.serve(partitions))
        self.addresses, self.servers = served.addresses, served.processes
        self.addCleanup(self.resume)
        self.g = ep.DistGraph(servers=self.addresses, environment={"ESPALIER_ACCESS": "rpc"})

    def stop(self):
        for server in self.servers:
            server.send_signal(signal.SIGSTOP)

    def resume(self):
        for server in self.servers:
            server.send_signal(signal.SIGCONT)

    @contextlib.contextmanager
    def interrupted(self, error=KeyboardInterrupt):
        """Sends a signal to this process during the block, and expects that the block soon ends with the signal's
        error."""
        timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
        began = time.monotonic()
        try:
            with self.assertRaises(error):
                timer.start()
                yield
                timer.join()  # if the block did not wait
        finally:
            timer.join()
        self.assertLess(time.monotonic() - began, 20)

    def check_graph(self):
        nodes = self.g.to_global_ids(np.arange(cora.num_nodes))
        np.testing.assert_array_equal(self.g.ndata["node-label"][nodes], cora.labels)

    def test_queries(self):
        g = self.g
        # Persistent: the servers end before a tensor of this process could be dropped.
        counts = ep.DistTensor.create(g, (10,), np.int64, name="counts", persistent=True)
        mask = ep.DistTensor.create(g, (), bool, name="mask", ntype="node", persistent=True)
        for call in (lambda: g.ndata["node-feat"][[0, 2000]], lambda: g.to_global_ids([0, 2707]),
                     lambda: ep.sample_neighbors(g, [0, 2000], 3), lambda: g.find_edges([0, 10000]),
                     lambda: ep.random_walk(g, [0, 2000], ["edge"]), lambda: g.split_nodes("public"),
                     lambda: counts[[0, 9]], counts.sum, lambda: ep.node_split(TRAIN, g),
                     lambda: ep.node_split(mask, g), lambda: ep.DistTensor.open(g, "counts"),
                     lambda: ep.DistTensor.create(g, (10,), persistent=True),
                     lambda: ep.DistTensor.drop(g, "another")):
            self.stop()
            with self.interrupted():
                call()
            self.resume()
        self.check_graph()
        counts[:] = 4
        self.assertEqual(counts.sum(), 40)

    def test_another_signal(self):
        class Alarm(Exception):
            pass

        def on_signal(*_):
            raise Alarm

        signal.signal(signal.SIGINT, on_signal)
        self.stop()
        with self.interrupted(Alarm):
            self.g.in_degrees([0, 2000])
        self.resume()
        self.check_graph()

    def test_a_handler_that_raises_nothing_does_not_end_the_wait(self):
        handled = []

        def on_signal(*_):
            handled.append(self.resume())

        signal.signal(signal.SIGINT, on_signal)
        self.stop()
        timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        nodes = self.g.to_global_ids(np.arange(cora.num_nodes))
        timer.join()
        self.assertEqual((len(nodes), len(handled)), (cora.num_nodes, 1))

    def test_a_handler_may_call_the_library(self):
        mapped = ep.DistGraph(partitions)
        answers = []

        def on_signal(*_):
            answers.append(mapped.to_original_ids(mapped.to_global_ids([7])).tolist())
            self.resume()

        signal.signal(signal.SIGINT, on_signal)
        self.stop()
        timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        self.check_graph()
        timer.join()
        self.assertEqual(answers, [[7]])

    def test_batches(self):
        sampler = ep.NeighborSampler([5, 5], prefetch_node_feats=["node-feat"])
        loader = ep.DistNodeDataLoader(self.g, TRAIN, sampler, batch_size=20, seed=3)
        expected = [batch.input_nodes.tolist() for batch in loader]
        loader.set_epoch(0)
        batches = iter(loader)
        self.assertEqual(next(batches).input_nodes.tolist(), expected[0])
        self.stop()
        with self.interrupted():
            for batch in batches:
                self.assertEqual(batch.input_nodes.tolist(), expected[batch.step])
        self.resume()
        self.check_graph()
        # The loader continues with the batch whose wait was interrupted.
        state = loader.state_dict()
        loader.load_state_dict(state)
        self.assertEqual([batch.input_nodes.tolist() for batch in loader], expected[state["step"]:])

    def test_opening_a_graph(self):
        self.stop()
        with self.interrupted():
            ep.DistGraph(servers=[f"127.0.0.1:{graphs.closed_port()}"], environment={})
        self.resume()
        self.check_graph()

    def test_queries_of_other_threads(self):
        """A wait of another thread does not block the main thread."""
        self.stop()
        with concurrent.futures.ThreadPoolExecutor() as threads:
            answer = threads.submit(self.g.to_global_ids, [5])
            with self.interrupted():
                answer.result()
            self.assertFalse(answer.done())
            self.resume()
            self.assertEqual(self.g.to_original_ids(answer.result(timeout=100)).tolist(), [5])

    def test_a_batch_that_fails_ends_the_epoch_with_its_error(self):
        g = ep.DistGraph(servers=self.addresses, environment={"ESPALIER_ACCESS": "rpc", "ESPALIER_CALL_SECONDS": "1"})
        batches = iter(ep.DistNodeDataLoader(g, TRAIN, ep.NeighborSampler([5, 5]), batch_size=10, batches_ahead=1))
        next(batches)
        self.stop()
        with self.assertRaises((ep.DeadlineExceeded, ep.Unavailable)):
            for _ in batches:
                pass
        self.resume()

    def test_a_cancelled_epoch(self):
        loader = ep.DistNodeDataLoader(self.g, TRAIN, ep.NeighborSampler([5, 5]), batch_size=20, batches_ahead=1)
        batches = iter(loader)
        next(batches)
        self.stop()
        timer = threading.Timer(0.1, loader.cancel)
        with self.assertRaises(ep.Cancelled):
            timer.start()
            for _ in batches:
                pass
            self.fail("the epoch has ended before it was cancelled")
        timer.join()
        self.resume()
        loader.set_epoch(0)
        self.assertEqual(sum(batch.num_seeds for batch in loader), 140)


class Memory(unittest.TestCase):
    def setUp(self):
        self.g = ep.DistGraph(partitions)

    def growth(self, work, rounds):
        """Returns the bytes by which this process grows in `rounds` calls of `work`, after the same number of calls
        before."""
        for _ in range(rounds):
            work()
        before = resident_bytes()
        for _ in range(rounds):
            work()
        return resident_bytes() - before

    def test_batches(self):
        sampler = ep.NeighborSampler([5, 5], prefetch_node_feats=["node-feat"], edge_ids=True)
        loader = ep.DistNodeDataLoader(self.g, TRAIN, sampler, batch_size=14)
        kept = []

        def epoch():
            for batch in loader:
                kept[:] = [batch.blocks[0].srcdata["node-feat"], batch.blocks[1].edges()]

        # 100 batches have 150 MB of features.
        self.assertLess(self.growth(epoch, 10), 40e6)

    def test_abandoned_epochs(self):
        loader = ep.DistNodeDataLoader(self.g, TRAIN, ep.NeighborSampler([5, 5], prefetch_node_feats=["node-feat"]),
                                       batch_size=14)

        def begin():
            loader.set_epoch(0)
            next(iter(loader)).blocks

        self.assertLess(self.growth(begin, 100), 40e6)

    def test_answers(self):
        nodes = np.arange(0, 2708, 9)  # 300 rows have 1.7 MB

        def ask():
            self.g.ndata["node-feat"][nodes]
            ep.to_block(self.g, ep.sample_neighbors(self.g, nodes, 5), nodes)

        self.assertLess(self.growth(ask, 100), 40e6)

    def test_tensors_and_loaders(self):
        def make():
            tensor = ep.DistTensor.create(self.g, (300, 1000))  # 1.2 MB
            tensor[[0, 299]] = 1
            next(iter(ep.DistNodeDataLoader(self.g, TRAIN, ep.NeighborSampler([2]), batch_size=140)))

        self.assertLess(self.growth(make, 100), 40e6)
