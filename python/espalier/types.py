"""Checks and converts arguments: arrays of ids, and names of node and edge types."""

import operator
import threading
from collections.abc import Mapping

import numpy as np

from espalier.errors import FailedPrecondition, InvalidArgument


def to_ids(values, what="ids"):
    """Returns `values` (an array, a tensor on any device, a list or one id) as an int64 array [n]. Rejects a mask of
    bools."""
    if not getattr(values, "is_cpu", True):  # only tensors have the attribute
        values = values.cpu()
    array = np.asarray(values)
    if array.dtype == np.int64 and array.ndim == 1:
        return np.ascontiguousarray(array)
    if array.ndim > 1:
        raise InvalidArgument(f"{what} must be one-dimensional, not of shape {array.shape}")
    if array.size == 0:
        return np.zeros(0, np.int64)
    if not np.issubdtype(array.dtype, np.integer):
        raise InvalidArgument(f"{what} must be integers, not {array.dtype}")
    if array.dtype == np.uint64 and array.max() > np.iinfo(np.int64).max:
        raise InvalidArgument(f"{what} must be below 2**63; one is {array.max()}")
    return np.ascontiguousarray(array.reshape(-1), dtype=np.int64)


def to_int(value, what, least=0, most=2**63 - 1):
    """Returns `value`, an integer of [least, most]."""
    try:
        number = operator.index(value)
    except TypeError:
        raise InvalidArgument(f"{what} must be an integer, not {value!r}") from None
    if not least <= number <= most:
        raise InvalidArgument(f"{what} must be at least {least}" + (f" and at most {most}" if most < 2**63 - 1 else "")
                              + f", not {number}")
    return number


def to_fanout(value):
    return to_int(value, "a fan-out", least=-1, most=2**31 - 1)


class OneCallAtATime:
    """A context manager for one user at a time: entering it raises FailedPrecondition while another thread, or the code
    that a signal handler has interrupted, is inside."""

    def __init__(self, what):
        self._what, self._lock = what, threading.Lock()

    def __enter__(self):
        if not self._lock.acquire(blocking=False):
            raise FailedPrecondition(
                f"a call of this {self._what} is pending, in another thread or in the code that a signal handler has "
                "interrupted; a handler can set a flag instead, which the loop looks at")

    def __exit__(self, kind, error, trace):
        self._lock.release()


class Schema:
    """Names of a graph's node and edge types, and their numbers in the library."""

    def __init__(self, node_types, edge_types):
        self.node_types = list(node_types)
        self.edge_types = [tuple(names) for names in edge_types]
        self._node_numbers = {name: i for i, name in enumerate(self.node_types)}
        self._edge_numbers = {names: i for i, names in enumerate(self.edge_types)}

    def node_type(self, name=None):
        """Returns the number of a node type; None for the only node type."""
        if name is None:
            if len(self.node_types) != 1:
                raise InvalidArgument(f"the graph has several node types, name one: {', '.join(self.node_types)}")
            return 0
        if name not in self._node_numbers:
            raise InvalidArgument(f"there is no node type {name!r}; the graph has {', '.join(self.node_types)}")
        return self._node_numbers[name]

    def edge_type(self, name=None):
        """Returns the number of an edge type: (source, relation, destination), "source:relation:destination", the
        relation if it is unique, or None for the only edge type."""
        all_names = ", ".join(":".join(names) for names in self.edge_types)
        if name is None:
            if len(self.edge_types) != 1:
                raise InvalidArgument(f"the graph has several edge types, name one: {all_names}")
            return 0
        key = tuple(name.split(":")) if isinstance(name, str) and ":" in name else name
        if isinstance(key, str):
            found = [names for names in self.edge_types if names[1] == key]
            if len(found) > 1:
                raise InvalidArgument(f"several edge types are called {key!r}, name one of {all_names}")
            key = found[0] if found else key
        if key not in self._edge_numbers:
            raise InvalidArgument(f"there is no edge type {name!r}; the graph has {all_names}")
        return self._edge_numbers[key]

    def source_of(self, edge_type):
        return self._node_numbers[self.edge_types[edge_type][0]]

    def destination_of(self, edge_type):
        return self._node_numbers[self.edge_types[edge_type][2]]

    def by_node_type(self, values, what="nodes"):
        """Returns {number of a node type: ids}. `values`: ids of the only type, or {name: ids}."""
        if isinstance(values, Mapping):
            return {self.node_type(name): to_ids(ids, what) for name, ids in values.items()}
        return {self.node_type(): to_ids(values, what)}

    def by_edge_type(self, values, what="edges"):
        if isinstance(values, Mapping):
            return {self.edge_type(name): to_ids(ids, what) for name, ids in values.items()}
        return {self.edge_type(): to_ids(values, what)}

    def fanouts(self, fanout):
        """Returns {number of an edge type: fan-out}; an int is the fan-out of every type, -1 all in-edges."""
        if isinstance(fanout, Mapping):
            return {self.edge_type(name): to_fanout(number) for name, number in fanout.items()}
        return {number: to_fanout(fanout) for number in range(len(self.edge_types))}
