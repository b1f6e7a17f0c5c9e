"""Graphs that a scenario makes up with numpy, in the formats that users have.

    build/python/bin/python graph_folders.py ratings|timed FOLDER     # for programs that have no numpy of their own
"""

import gzip
import json
import pathlib
import sys

import numpy as np


def random_edges(rng, sources, destinations, count):
    """Returns uniform random edge ends [2, count]."""
    return np.stack([rng.integers(0, sources, count), rng.integers(0, destinations, count)]).astype(np.int64)


def mean_of_neighbors(edges, values):
    """Returns for each node the mean of the rows of its in-neighbors; zeros if it has none."""
    sums = np.zeros_like(values, dtype=np.float64)
    np.add.at(sums, edges[1], values[edges[0]])
    counts = np.bincount(edges[1], minlength=len(values)).reshape((-1,) + (1,) * (values.ndim - 1))
    return sums / np.maximum(counts, 1)


def write_npz_graph(folder, edges, columns, edge_columns=None, seed=0):
    """Writes a graph with one node type: graph.npz and a graph.yaml. Split `random`: 60 % train, 20 % validation, 20 %
    test."""
    folder.mkdir()
    nodes = len(next(iter(columns.values())))
    order = np.random.default_rng(seed).permutation(nodes)
    train, validation, test = np.split(order, [nodes * 6 // 10, nodes * 8 // 10])
    arrays = dict(edge_index=edges, train=train, validation=validation, test=test)
    arrays.update({"node." + name: column for name, column in columns.items()})
    arrays.update({"edge." + name: column for name, column in (edge_columns or {}).items()})
    np.savez_compressed(folder / "graph.npz", **arrays)

    def member(name):
        return "{file: graph.npz, member: %s}" % name

    def column_lines(kind, names):
        return "".join(f"      {name}: {member(kind + name)}\n" for name in names)

    text = "version: 1\nname: made-up\nnodes:\n  - type: node\n    columns:\n" + column_lines("node.", columns)
    text += f"edges:\n  - type: node:edge:node\n    ids: {member('edge_index')}\n"
    if edge_columns:
        text += "    columns:\n" + column_lines("edge.", edge_columns)
    text += "splits:\n  - name: random\n"
    text += "".join(f"    {part}: {member(part)}\n" for part in ("train", "validation", "test"))
    (folder / "graph.yaml").write_text(text)
    return folder


def write_csv_gz(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt") as file:
        for row in rows:
            file.write(",".join(map(str, row)) + "\n")


def write_ogb_heterogeneous(folder, counts, relations, features, labels, split):
    """Writes a typed graph in OGB's raw CSV layout: relations {(head, relation, tail): edges [2, m]}, features {type:
    matrix}, labels {type: vector}, split {type: (train, valid, test)}."""
    raw, time = folder / "raw", folder / "split/time"
    write_csv_gz(raw / "num-node-dict.csv.gz", [counts.keys(), counts.values()])
    write_csv_gz(raw / "triplet-type-list.csv.gz", relations.keys())
    for triplet, edges in relations.items():
        relation = raw / "relations" / "___".join(triplet)
        write_csv_gz(relation / "edge.csv.gz", edges.T)
        write_csv_gz(relation / "num-edge-list.csv.gz", [[edges.shape[1]]])
    for node_type, rows in features.items():
        write_csv_gz(raw / "node-feat" / node_type / "node-feat.csv.gz", rows)
    for node_type, values in labels.items():
        write_csv_gz(raw / "node-label" / node_type / "node-label.csv.gz", values.reshape(-1, 1))
    write_csv_gz(raw / "nodetype-has-label.csv.gz", [counts.keys(), [name in labels for name in counts]])
    write_csv_gz(time / "nodetype-has-split.csv.gz", [counts.keys(), [name in split for name in counts]])
    for node_type, parts in split.items():
        for name, ids in zip(("train", "valid", "test"), parts):
            write_csv_gz(time / node_type / f"{name}.csv.gz", ids.reshape(-1, 1))
    return folder


def write_labeled_edges(folder, edge_type, kinds, edges, labels):
    """Writes one relation with labels. Split `rated` has random parts of its edges, by number. kinds: {node type: kind
    of each node, 0 to 3}, which the features contain with noise; edges [2, m]; labels: {name: column}. Returns the
    parts."""
    rng = np.random.default_rng(7)
    bounds = [int(0.7 * edges.shape[1]), int(0.85 * edges.shape[1])]
    parts = dict(zip(("train", "validation", "test"), np.split(rng.permutation(edges.shape[1]), bounds)))
    folder.mkdir()
    np.save(folder / "edges.npy", np.ascontiguousarray(edges))
    for name, rows in (labels | parts).items():
        np.save(folder / f"{name}.npy", rows)
    for node_type, kind in kinds.items():
        features = np.eye(4)[kind] + 0.1 * rng.normal(size=(kind.size, 4))
        np.save(folder / f"{node_type}.npy", features.astype(np.float32))
    (folder / "graph.yaml").write_text(json.dumps({
        "version": 1, "name": "ratings",
        "nodes": [{"type": node_type, "columns": {"node-feat": f"{node_type}.npy"}} for node_type in kinds],
        "edges": [{"type": edge_type, "ids": "edges.npy", "columns": {name: f"{name}.npy" for name in labels}}],
        "splits": [{"name": "rated", "edge_type": edge_type, **{name: f"{name}.npy" for name in parts}}]}))
    return parts


def ratings(users=160, items=200):
    """Arguments of write_labeled_edges: users rate items with one of three classes, which depends on the kinds of
    both."""
    rng = np.random.default_rng(8)
    kinds = {"item": rng.integers(0, 4, items), "user": rng.integers(0, 4, users)}
    edges = np.unique(np.stack([rng.integers(0, users, 6000), rng.integers(0, items, 6000)]), axis=1)
    return "user:rates:item", kinds, edges, {"class": (kinds["user"][edges[0]] + 2 * kinds["item"][edges[1]]) % 3}


def write_timed_graph(folder):
    """Writes a graph with times in [0, 1000): column `joined` of nodes and `when` of edges. The node column
    `may-be-drawn` is a mask."""
    rng = np.random.default_rng(8)
    features = rng.normal(size=(1500, 6)).astype(np.float32)
    edges = random_edges(rng, 1500, 1500, 20000)
    return write_npz_graph(
        folder, edges,
        {"node-feat": features, "node-label": (features[:, 0] > 0).astype(np.int64),
         "joined": rng.integers(0, 1000, 1500), "may-be-drawn": (rng.random(1500) < 0.7).astype(np.uint8)},
        {"when": rng.integers(0, 1000, 20000)})


WRITERS = {"ratings": lambda folder: write_labeled_edges(folder, *ratings()), "timed": write_timed_graph}

if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in WRITERS:
        sys.exit(__doc__)
    WRITERS[sys.argv[1]](pathlib.Path(sys.argv[2]))
