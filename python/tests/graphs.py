"""Partitioned graphs with known arrays, created once for a test module."""

import json
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import unittest

import numpy as np

import espalier as ep

BIN = pathlib.Path(os.environ["ESPALIER_BIN"])
SOURCE = pathlib.Path(os.environ["ESPALIER_SOURCE"])
CORA = SOURCE / "services/examples/cora"
SCRIPTS = pathlib.Path(__file__).parent / "scripts"

AUTHORS, PAPERS = 50, 120
WRITES = ("author", "writes", "paper")
CITES = ("paper", "cites", "paper")
LIKES_PAPERS = ("author", "likes", "paper")
LIKES_AUTHORS = ("author", "likes", "author")
EDGE_COUNTS = {WRITES: 400, CITES: 500, LIKES_PAPERS: 90, LIKES_AUTHORS: 80}


class Cora:
    """The arrays of the Cora citation graph in the order of its files: original ids are rows."""

    def __init__(self):
        self.edges = np.loadtxt(CORA / "raw/edge.csv.gz", np.int64, delimiter=",").T
        self.features = np.loadtxt(CORA / "raw/node-feat.csv.gz", np.float32, delimiter=",")
        self.labels = np.loadtxt(CORA / "raw/node-label.csv.gz", np.int64)
        self.train, self.validation, self.test = (
            np.loadtxt(CORA / f"split/public/{part}.csv.gz", np.int64) for part in ("train", "valid", "test"))
        self.num_nodes = len(self.labels)
        self.pairs = set(map(tuple, self.edges.T.tolist()))


class Publications:
    """A small graph with several types and without parallel edges. Two of its relations have the same name.

    Edges of WRITES have the columns weight, rating and number; number is the row of the edge. Papers have the column
    until, a number. Split "rated" has edges of WRITES, split "linked" edges of WRITES and CITES, and split "random"
    papers.
    """

    def __init__(self):
        rng = np.random.default_rng(5)
        counts = {"author": AUTHORS, "paper": PAPERS}
        self.edges = {}
        for etype, count in EDGE_COUNTS.items():
            pairs = rng.permutation(counts[etype[0]] * counts[etype[2]])[:count]
            self.edges[etype] = np.stack(np.divmod(pairs, counts[etype[2]])).astype(np.int64)
        self.features = {name: rng.normal(size=(count, 4)).astype(np.float32) for name, count in counts.items()}
        self.labels = rng.integers(0, 5, PAPERS)
        self.years = rng.integers(1990, 2020, PAPERS).astype(np.int16)
        self.weights = rng.integers(0, 4, EDGE_COUNTS[WRITES]).astype(np.float32)
        self.ratings = rng.integers(0, 5, (EDGE_COUNTS[WRITES], 2)).astype(np.int32)
        self.numbers = np.arange(EDGE_COUNTS[WRITES])
        self.until = rng.integers(0, EDGE_COUNTS[WRITES], PAPERS)
        self.split = dict(zip(("train", "validation", "test"), np.split(rng.permutation(PAPERS), [70, 100])))
        self.rated = dict(zip(("train", "validation", "test"),
                              np.split(rng.permutation(EDGE_COUNTS[WRITES]), [300, 350])))
        self.linked = {WRITES: rng.permutation(EDGE_COUNTS[WRITES])[:90], CITES: rng.permutation(EDGE_COUNTS[CITES])[:60]}

    def write(self, folder):
        folder.mkdir()
        arrays = {"author-feat": self.features["author"], "paper-feat": self.features["paper"],
                  "paper-label": self.labels, "year": self.years, "weight": self.weights, "rating": self.ratings,
                  "number": self.numbers, "until": self.until}
        arrays.update({"-".join(etype): ids for etype, ids in self.edges.items()})
        arrays.update({f"random-{part}": ids for part, ids in self.split.items()})
        arrays.update({f"rated-{part}": ids for part, ids in self.rated.items()})
        arrays.update({f"linked-{etype[1]}": ids for etype, ids in self.linked.items()})
        for name, array in arrays.items():
            np.save(folder / f"{name}.npy", np.ascontiguousarray(array))
        parts = ("train", "validation", "test")
        edges = [{"type": list(etype), "ids": "-".join(etype) + ".npy"} for etype in self.edges]
        edges[0]["columns"] = {name: f"{name}.npy" for name in ("weight", "rating", "number")}
        (folder / "graph.yaml").write_text(json.dumps({
            "version": 1, "name": "publications",
            "nodes": [{"type": "author", "columns": {"feat": "author-feat.npy"}},
                      {"type": "paper", "columns": {"feat": "paper-feat.npy", "label": "paper-label.npy",
                                                    "year": "year.npy", "until": "until.npy"}}],
            "edges": edges,
            "splits": [{"name": "random", "type": "paper", **{part: f"random-{part}.npy" for part in parts}},
                       {"name": "rated", "edge_type": list(WRITES),
                        **{part: f"rated-{part}.npy" for part in parts}},
                       *({"name": "linked", "edge_type": list(etype), "train": f"linked-{etype[1]}.npy"}
                         for etype in self.linked)]}))
        return folder


def espalier(*args, timeout=240, **options):
    """Runs `espalier ARGS` to its end."""
    return subprocess.run([str(BIN / "espalier"), *map(str, args)], capture_output=True, text=True, timeout=timeout,
                          stdin=subprocess.DEVNULL, **options)


def partition(source, source_format, count, folder, *flags):
    """Partitions a graph; returns the folder with the manifest."""
    process = espalier("partition", source, "--format", source_format, "--count", count, "--source-columns",
                       "original_id", "--output", folder / f"partitions-{count}", "--quiet", "--json",
                       *flags)
    if process.returncode != 0:
        raise RuntimeError(process.stdout + process.stderr)
    return pathlib.Path(json.loads(process.stdout)["uri"])


def make_folder():
    """Returns a new folder that is removed when the calling test module ends."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="espalier-python-"))
    unittest.addModuleCleanup(shutil.rmtree, folder, ignore_errors=True)
    return folder


def open_cora(folder, counts=(2, 3)):
    """Returns (Cora, {number of partitions: DistGraph})."""
    return Cora(), {count: ep.DistGraph(partition(CORA, "OGB", count, folder)) for count in counts}


def open_publications(folder, counts=(2, 3)):
    """Returns (Publications, {number of partitions: DistGraph})."""
    publications = Publications()
    source = publications.write(folder / "publications")
    parts = folder / "publications-partitions"
    return publications, {count: ep.DistGraph(partition(source, "NPY", count, parts)) for count in counts}


def pairs_of(g, edges, source_type=None, destination_type=None):
    """Returns edges, (sources, destinations) in global ids, as an array of original ids [edges, 2]."""
    sources, destinations = edges
    return np.stack([g.to_original_ids(sources, source_type), g.to_original_ids(destinations, destination_type)], 1)


def sorted_rows(array):
    """Returns the rows of a matrix in lexical order."""
    return array[np.lexsort(array.T[::-1])]


def closed_port():
    """Returns a port of this host that no process listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]
