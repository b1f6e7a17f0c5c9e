"""What no API does: machines that fail, cables that are pulled, a store that is away. Needs a cluster of e2e/cluster."""

import contextlib
import os
import pathlib

from runner.commands import run

CLUSTER = pathlib.Path(__file__).resolve().parents[1] / "cluster"


class Machines:
    def __init__(self, note, kept_evidence):
        self._note = note
        self._kept_evidence = kept_evidence  # of World: before the cluster is whole again

    @contextlib.contextmanager
    def failed(self, node):
        """A time in which a node's machine is off."""
        with self._between(("kill-node", node), ("start-node", node), f"{node} fails", f"{node} is back"):
            yield

    @contextlib.contextmanager
    def cut_off(self, node):
        """A time in which a node reaches nobody, and nobody reaches it, while everything on it runs on."""
        with self._between(("cut-node", node), ("join-node", node), f"{node} is cut off", f"{node} is joined again"):
            yield

    @contextlib.contextmanager
    def cut_between(self, nodes):
        """A time in which two nodes do not reach each other; both reach the API server and the store."""
        told = " and ".join(nodes)
        with self._between(("cut-between", *nodes), ("join-between", *nodes), f"{told} do not reach each other",
                           f"{told} reach each other again"):
            yield

    @contextlib.contextmanager
    def without_store(self):
        """A time in which nothing answers at the bucket's address."""
        with self._between(("stop-s3",), ("start-s3",), "the store is gone", "the store is back"):
            yield

    @contextlib.contextmanager
    def _between(self, begin, end, said_first, said_last):
        """The cluster is whole again afterwards, whatever happens."""
        self._note(said_first)
        try:
            self._cluster(*begin)
            with self._kept_evidence(begin[0]):
                yield
        finally:
            self._cluster(*end)
            self._note(said_last)

    def _cluster(self, command, *arguments):
        # Those that end something may wait for a minute before they begin.
        run([CLUSTER, command, "--name", os.environ["ESPALIER_E2E_CLUSTER"], *arguments], timeout=240)


@contextlib.contextmanager
def full_nodes():
    """A time in which no node takes a pod; those that are there stay."""
    nodes = run(["kubectl", "get", "nodes", "--output=jsonpath={.items[*].metadata.name}"]).split()
    try:
        run(["kubectl", "cordon", *nodes])
        yield
    finally:
        run(["kubectl", "uncordon", *nodes])


@contextlib.contextmanager
def drained(node):
    """A time in which a node takes no pods, after all that were there have been asked to go."""
    try:
        run(["kubectl", "drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=150s"], timeout=180)
        yield
    finally:
        run(["kubectl", "uncordon", node])
