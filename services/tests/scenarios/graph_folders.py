"""Graphs that a scenario makes up with numpy, in the formats that users have."""

import gzip

import numpy as np


def random_edges(rng, sources, destinations, count):
    """Edge ends [2, count], uniform."""
    return np.stack([rng.integers(0, sources, count), rng.integers(0, destinations, count)]).astype(np.int64)


def mean_of_neighbours(edges, values):
    """For each node the mean over its in-edges of the sources' rows; zeros where there are none."""
    sums = np.zeros_like(values, dtype=np.float64)
    np.add.at(sums, edges[1], values[edges[0]])
    counts = np.bincount(edges[1], minlength=len(values)).reshape((-1,) + (1,) * (values.ndim - 1))
    return sums / np.maximum(counts, 1)


def write_npz_graph(folder, edges, columns, edge_columns=None, seed=0):
    """One node type in graph.npz with a graph.yaml; split `random`: 60 % train, 20 % validation, 20 % test."""
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
    """OGB's raw CSV layout of a typed graph: relations {(head, relation, tail): edges [2, m]}, features {type: matrix},
    labels {type: vector}, split {type: (train, valid, test)}."""
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
