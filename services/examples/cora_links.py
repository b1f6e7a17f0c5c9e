"""The Cora graph with a split of its edges, as a folder that `cora-links.yaml` reads:

    python3 services/examples/cora_links.py cora-links

The edge list contains each citation once, as a pair (u, v) with u < v: 85 % of the citations are training edges, 5 %
validation edges, and 10 % test edges.
"""

import gzip
import pathlib
import sys

import numpy as np

CORA = pathlib.Path(__file__).resolve().parent / "cora" / "raw"


def rows(name, dtype):
    with gzip.open(CORA / f"{name}.csv.gz", "rt") as file:
        return np.loadtxt(file, delimiter=",", dtype=dtype, ndmin=2)


def main(folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True)
    edges = rows("edge", np.int64)
    pairs = np.unique(edges[edges[:, 0] < edges[:, 1]], axis=0)
    order = np.random.default_rng(0).permutation(len(pairs))
    train, validation = int(0.85 * len(pairs)), int(0.90 * len(pairs))
    np.save(folder / "edges.npy", np.ascontiguousarray(pairs.T))
    np.save(folder / "node-feat.npy", rows("node-feat", np.float32))
    for name, part in (("train", order[:train]), ("validation", order[train:validation]), ("test", order[validation:])):
        np.save(folder / f"{name}.npy", part)
    (folder / "graph.yaml").write_text("""version: 1
name: cora-links
nodes:
  - {type: paper, columns: {node-feat: node-feat.npy}}
edges:
  - {type: [paper, cites, paper], ids: edges.npy}
splits:
  - {name: links, edge_type: [paper, cites, paper], train: train.npy, validation: validation.npy, test: test.npy}
""")


if __name__ == "__main__":
    main(sys.argv[1])
