"""Writes graphs from memory to files, and partitions them."""

import json
import os
import pathlib
import subprocess
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from espalier import programs
from espalier.errors import InvalidArgument, from_exit_code
from espalier.typing import Path, Values


def write_graph(folder: Path, name: str, nodes: Mapping[str, tuple[int, Mapping[str, Values]]],
                edges: Mapping[tuple[str, str, str], tuple[Any, Any, Mapping[str, Values]]],
                splits: Iterable[Mapping[str, Any]] = ()) -> None:
    """Writes a graph as a folder of .npy files with graph.yaml, the format "NPY" of docs/graph-formats.md. The folder
    is the source for a job's document or for `partition`.

    nodes: {node type: (number of nodes, {column: array [nodes, ...]})}. edges: {(source type, relation, destination
    type): (sources, destinations, {column: array [edges, ...]})}. splits: dicts {"name": n, "type": node type or
    "edge_type": edge type, "train": ids or mask, "validation": ..., "test": ...}, parts may be missing. folder: must be
    new or empty. InvalidArgument: the folder is not empty, or an array has the wrong shape. Other errors in the graph
    are reported by `partition`.
    """
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise InvalidArgument(f"{folder} is not empty")
    count = 0

    def save(values):
        nonlocal count
        file = f"array-{count}.npy"
        count += 1
        np.save(folder / file, np.ascontiguousarray(values))
        return file

    def columns(of, rows, arrays):
        for column, values in arrays.items():
            if np.ndim(values) == 0 or len(values) != rows:
                raise InvalidArgument(f"column {column!r} of {of} has shape {np.shape(values)}; it needs {rows} rows")
        return {column: save(values) for column, values in arrays.items()}

    described_nodes = [{"type": ntype, "count": int(number), "columns": columns(ntype, number, arrays)}
                       for ntype, (number, arrays) in nodes.items()]
    described_edges = []
    for etype, (sources, destinations, arrays) in edges.items():
        of = ":".join(etype)
        if len(sources) != len(destinations):
            raise InvalidArgument(f"{len(sources)} sources and {len(destinations)} destinations of {of}")
        one = {"type": list(etype), "count": len(sources)}
        if len(sources):
            one.update(sources=save(sources), destinations=save(destinations),
                       columns=columns(of, len(sources), arrays))
        described_edges.append(one)
    described_splits = [{key: save(value) if key in ("train", "validation", "test") else
                         list(value) if isinstance(value, tuple) else value for key, value in split.items()}
                        for split in splits]
    # JSON is YAML.
    (folder / "graph.yaml").write_text(json.dumps({"version": 1, "name": name, "nodes": described_nodes,
                                                   "edges": described_edges, "splits": described_splits}, indent=1))


def partition(source: Path, output: Path, *, format: str = "NPY", count: int = 2, algorithm: str = "METIS",
              objective: str = "EdgeCut", balance: Iterable[str] = (), source_columns: Iterable[str] = (),
              seed: int = 0, flags: Iterable[str] = ()) -> str:
    """Partitions the graph in folder `source` into `output`/KEY and returns that folder, which DistGraph(partitions=)
    opens. Counterpart of `espalier partition`; docs/reference/command-line.md describes the options. flags: other
    options, such as ["--add-reverse-edges"]. Existing partitions with the same key are reused.

    Errors have the message and the exit code of the program.
    """
    command = [programs.path(), "partition", os.fspath(source), "--format", format, "--count", str(count),
               "--algorithm", algorithm, "--objective", objective, "--seed", str(seed), "--output", os.fspath(output),
               "--json", "--quiet"]
    for option, values in ("--balance", balance), ("--source-columns", source_columns):
        if values:
            command += [option, ",".join(values)]
    done = subprocess.run(command + list(flags), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise from_exit_code(done.returncode, done.stderr.strip() or f"espalier partition ended with {done.returncode}")
    return json.loads(done.stdout)["uri"]


def original_edge_ids(folder: Path, etype: tuple[str, str, str]) -> np.ndarray:
    """Returns the original id of each edge of a type, in the order of global ids: int64 [edges]. folder: folder of
    partitions on this machine. etype: (source type, relation, destination type)."""
    folder = pathlib.Path(folder)
    attempt = json.loads((folder / "manifest.json").read_text())["attempt"]
    parts = [_safetensor(path, f"original_edge_ids/{':'.join(etype)}")
             for path in sorted(folder.glob(f"{attempt}/part-*/edge_ids.safetensors"))]
    return np.concatenate(parts).astype(np.int64)


def _safetensor(path, name):
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        entry = json.loads(file.read(size))[name]
        begin, end = entry["data_offsets"]
        file.seek(8 + size + begin)
        return np.frombuffer(file.read(end - begin), {"U32": "<u4", "U64": "<u8"}[entry["dtype"]])
