"""The partition book: maps ids of nodes and edges to partitions."""

import numpy as np

from espalier.errors import InvalidArgument
from espalier.types import to_ids, to_int
from espalier.typing import EdgeType, Ids


class PartitionBook:
    """Counterpart of DGL's GraphPartitionBook. Every partition owns a contiguous range of the ids of each type."""

    def __init__(self, core, schema):
        self._core, self._schema = core, schema

    def num_partitions(self) -> int:
        return self._core.num_partitions

    def nid2partid(self, nids: Ids, ntype: str | None = None) -> np.ndarray:
        """Returns the partition of each node: int64 [n]. InvalidArgument: a node does not exist."""
        return self._core.node_owners(self._schema.node_type(ntype), to_ids(nids, "nodes"))

    def eid2partid(self, eids: Ids, etype: EdgeType | None = None) -> np.ndarray:
        """Returns the partition of each edge, which is that of its destination: int64 [n]."""
        return self._core.edge_owners(self._schema.edge_type(etype), to_ids(eids, "edges"))

    def node_ranges(self, ntype: str | None = None) -> np.ndarray:
        """Returns the first node id of each partition, followed by the number of nodes: int64 [partitions + 1]."""
        return self._core.node_first(self._schema.node_type(ntype))

    def edge_ranges(self, etype: EdgeType | None = None) -> np.ndarray:
        """Returns the first edge id of each partition, followed by the number of edges: int64 [partitions + 1]."""
        return self._core.edge_first(self._schema.edge_type(etype))

    def nid2localnid(self, nids: Ids, partid: int, ntype: str | None = None) -> np.ndarray:
        """Returns the number of each node within its partition, which must be `partid`: int64 [n]."""
        return _within(self.node_ranges(ntype), to_ids(nids, "nodes"), partid, "nodes")

    def eid2localeid(self, eids: Ids, partid: int, etype: EdgeType | None = None) -> np.ndarray:
        """Returns the number of each edge within its partition, which must be `partid`: int64 [n]."""
        return _within(self.edge_ranges(etype), to_ids(eids, "edges"), partid, "edges")


def _within(ranges, ids, partid, what):
    partid = to_int(partid, "partid", most=len(ranges) - 2)
    if len(ids) and not (ranges[partid] <= ids.min() and ids.max() < ranges[partid + 1]):
        raise InvalidArgument(f"{what} of another partition; partition {partid} owns [{ranges[partid]}, "
                              f"{ranges[partid + 1]})")
    return ids - ranges[partid]
