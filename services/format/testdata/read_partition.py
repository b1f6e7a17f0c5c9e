"""Reads a partitioned graph as docs/partition-format.md describes it, with NumPy and without code of Espalier.

    python3 read_partition.py FOLDER        prints the content of the folder
"""

import json
import pathlib
import struct
import sys

import numpy as np

try:
    import safetensors
except ImportError:  # only the test needs it, for a comparison
    safetensors = None

NUMPY_TYPES = {
    "BOOL": "|b1", "U8": "|u1", "I8": "|i1", "U16": "<u2", "I16": "<i2", "U32": "<u4", "I32": "<i4",
    "U64": "<u8", "I64": "<i8", "F16": "<f2", "F32": "<f4", "F64": "<f8",
    "BF16": "<u2",  # bit patterns, because NumPy has no bfloat16
}


def parse_safetensors(path):
    """Returns {name: array} and the metadata of one file, as section 3 of the document describes them."""
    data = pathlib.Path(path).read_bytes()
    (length,) = struct.unpack_from("<Q", data, 0)
    header = json.loads(data[8:8 + length])
    metadata = header.pop("__metadata__", {})
    assert (8 + length) % 64 == 0, "data starts at a multiple of 64"
    tensors, covered = {}, 0
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        begin, end = entry["data_offsets"]
        assert begin == covered, f"{name} leaves a hole or overlaps"
        covered = end
        dtype = np.dtype(NUMPY_TYPES[entry["dtype"]])
        count = (end - begin) // dtype.itemsize
        flat = np.frombuffer(data, dtype, count, 8 + length + begin)
        tensors[name] = flat.reshape(entry["shape"])
    assert 8 + length + covered == len(data), "bytes after the last tensor"
    return tensors, metadata


class Partitioning:
    """A manifest and, on request, the tensors of its partitions."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.manifest = json.loads((self.folder / "manifest.json").read_text())
        if self.manifest["format"] != "espalier.partitioned-graph" or self.manifest["format_version"] not in (1, 2):
            raise ValueError("not a partitioned graph of version 1 or 2")
        self.num_partitions = len(self.manifest["partitions"])

    def tensors(self, partition, part):
        """Returns the tensors of one file. part: graph, node_columns, edge_columns or original_edge_ids."""
        entry = self.manifest["partitions"][partition][part]
        path = self.folder / entry["key"]
        if path.stat().st_size != entry["size_bytes"]:
            raise ValueError(f"{path} is not {entry['size_bytes']} bytes long")
        return parse_safetensors(path)[0]

    def original_ids(self, node_type):
        """Returns the original ids of a node type by global id."""
        name = f"original_ids/{node_type}"
        return np.concatenate([self.tensors(p, "graph")[name] for p in range(self.num_partitions)])

    def global_ids(self, node_type):
        """Returns the global ids of a node type by original id: the directory."""
        name = f"directory/{node_type}"
        return np.concatenate([self.tensors(p, "graph")[name] for p in range(self.num_partitions)])

    def edges(self, source, relation, destination):
        """Returns sources, destinations and original edge ids by global edge id. Nodes have original ids."""
        name = f"{source}:{relation}:{destination}"
        original_of_source = self.original_ids(source)
        columns = [[], [], []]
        for p in range(self.num_partitions):
            graph = self.tensors(p, "graph")
            in_degrees = np.diff(graph[f"in_edges/{name}/indptr"].astype(np.int64))
            columns[0].append(original_of_source[graph[f"in_edges/{name}/indices"]])
            columns[1].append(np.repeat(graph[f"original_ids/{destination}"], in_degrees))
            columns[2].append(self.tensors(p, "original_edge_ids")[f"original_edge_ids/{name}"])
        return tuple(np.concatenate(column) for column in columns)

    def node_column(self, node_type, column):
        """Returns one column of a node type, by original id; one with scales as float32."""
        name = f"columns/{node_type}/{column}"
        rows = np.concatenate([self.tensors(p, "node_columns")[name] for p in range(self.num_partitions)])
        described, = (entry for entry in self.manifest["node_types"] if entry["name"] == node_type)
        entry, = (entry for entry in described["columns"] if entry["name"] == column)
        if "scales" in entry:
            scales = np.array(entry["scales"], np.float32)
            rows = rows.astype(np.float32) * scales.reshape(entry["row_shape"])
        return rows[self.global_ids(node_type)]

    def edge_column(self, source, relation, destination, column):
        """Returns one column of an edge type, by global edge id."""
        name = f"columns/{source}:{relation}:{destination}/{column}"
        return np.concatenate([self.tensors(p, "edge_columns")[name] for p in range(self.num_partitions)])

    def split(self, name, node_type, part):
        """Returns the original ids of a part ("train", "validation" or "test") of a split, in order."""
        ids, ordinals = [], []
        for p in range(self.num_partitions):
            graph = self.tensors(p, "graph")
            local_ids = graph[f"split/{name}/{node_type}/{part}/local_ids"]
            ids.append(graph[f"original_ids/{node_type}"][local_ids])
            ordinals.append(graph[f"split/{name}/{node_type}/{part}/ordinals"])
        ids, ordinals = np.concatenate(ids), np.concatenate(ordinals)
        return ids[np.argsort(ordinals)]


def main(folder):
    graph = Partitioning(folder)
    for key in ("graph_name", "algorithm", "partition_key"):
        print(f"{key}: {graph.manifest[key]}")
    for node_type in graph.manifest["node_types"]:
        print(f"{node_type['name']}: nodes of the partitions start at {node_type['first']}")
    for edge_type in graph.manifest["edge_types"]:
        names = [edge_type[key] for key in ("source", "relation", "destination")]
        sources, destinations, _ = graph.edges(*names)
        print(f"{':'.join(names)}: {len(sources)} edges, first {list(zip(sources, destinations))[:5]}")


if __name__ == "__main__":
    main(sys.argv[1])
