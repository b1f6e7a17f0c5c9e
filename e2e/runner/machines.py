"""Faults that no API can cause: failed machines, networks that are cut, an unreachable store. Needs a cluster of
e2e/cluster (except full_nodes and drained). Also resources that no machine has."""

import contextlib
import json
import os
import pathlib

from runner.commands import run

CLUSTER = pathlib.Path(__file__).resolve().parents[1] / "cluster"


class Machines:
    def __init__(self, note, kept_evidence):
        self._note = note
        self._kept_evidence = kept_evidence  # World.kept_evidence: reports a failure before the cluster is repaired

    @contextlib.contextmanager
    def failed(self, node):
        """A block in which a node's machine is off."""
        with self._between(("kill-node", node), ("start-node", node), f"{node} fails", f"{node} is back"):
            yield

    @contextlib.contextmanager
    def cut_off(self, node):
        """A block in which a node has no network, while its processes keep running."""
        with self._between(("cut-node", node), ("join-node", node), f"{node} is cut off", f"{node} is joined again"):
            yield

    @contextlib.contextmanager
    def cut_between(self, nodes):
        """A block in which two nodes cannot reach each other; both reach the API server and the store."""
        names = " and ".join(nodes)
        with self._between(("cut-between", *nodes), ("join-between", *nodes), f"{names} do not reach each other",
                           f"{names} reach each other again"):
            yield

    @contextlib.contextmanager
    def without_store(self):
        """A block in which no process listens at the bucket's address."""
        with self._between(("stop-s3",), ("start-s3",), "the store is gone", "the store is back"):
            yield

    def load_image(self, archive):
        """Puts an image, an OCI archive, on every node."""
        run([CLUSTER, "load-image", "--name", os.environ["ESPALIER_E2E_CLUSTER"], archive], timeout=900)

    @contextlib.contextmanager
    def _between(self, begin, end, said_first, said_last):
        """A block between two commands of e2e/cluster. The second one repairs the cluster, also after an exception."""
        self._note(said_first)
        try:
            self._cluster(*begin)
            with self._kept_evidence(begin[0]):
                yield
        finally:
            self._cluster(*end)
            self._note(said_last)

    def _cluster(self, command, *arguments):
        # Commands that undo a fault may wait for a minute before they begin.
        run([CLUSTER, command, "--name", os.environ["ESPALIER_E2E_CLUSTER"], *arguments], timeout=240)


@contextlib.contextmanager
def full_nodes():
    """A block in which no node accepts new pods; existing pods stay."""
    nodes = run(["kubectl", "get", "nodes", "--output=jsonpath={.items[*].metadata.name}"]).split()
    try:
        run(["kubectl", "cordon", *nodes])
        yield
    finally:
        run(["kubectl", "uncordon", *nodes])


@contextlib.contextmanager
def extended_resource(name, per_node):
    """A block in which each node offers `per_node` units of an extended resource. Yields the number of nodes."""
    nodes = run(["kubectl", "get", "nodes", "--output=jsonpath={.items[*].metadata.name}"]).split()
    try:
        for node in nodes:
            _offer(node, name, str(per_node))
        yield len(nodes)
    finally:
        for node in nodes:
            _offer(node, name, None)


def _offer(node, name, quantity):
    # The kubelet keeps an extended resource of the node's capacity, and copies it to what is allocatable.
    status = {"capacity": {name: quantity}, "allocatable": {name: quantity}}
    run(["kubectl", "patch", "node", node, "--subresource=status", "--type=merge", "--patch", json.dumps({"status": status})])


@contextlib.contextmanager
def drained(node):
    """A block in which a node is drained: its pods are evicted, and it accepts no new ones."""
    try:
        run(["kubectl", "drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=150s"], timeout=180)
        yield
    finally:
        run(["kubectl", "uncordon", node])
