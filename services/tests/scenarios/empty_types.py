"""A node type without nodes and a relation without edges need no files in any format."""

import json
import unittest

import numpy as np

from harness import Scenario, espalier, job

LABELS = np.arange(6) % 2
FEATURES = np.arange(24, dtype=np.float32).reshape(6, 4)
CITATIONS = np.array([[0, 1, 2, 3], [1, 2, 3, 4]])


class EmptyTypes(Scenario):
    """A graph in which papers cite papers, with a node type `author` that has no nodes."""

    def folder(self, name):
        folder = self.dir / name
        folder.mkdir()
        return folder

    def in_npy(self):
        folder = self.folder("npy")
        arrays = {"feat": FEATURES, "label": LABELS, "cites": CITATIONS, "train": np.arange(4), "validation": np.arange(4, 6)}
        for name, array in arrays.items():
            np.save(folder / f"{name}.npy", array)
        (folder / "graph.yaml").write_text("""version: 1
name: library
nodes:
  - {type: paper, columns: {node-feat: feat.npy, node-label: label.npy}}
  - {type: author, count: 0}
edges:
  - {type: "paper:cites:paper", ids: cites.npy}
  - {type: "author:writes:paper", count: 0}
splits:
  - {name: random, type: paper, train: train.npy, validation: validation.npy}
""")
        return folder, "NPY", "random"

    def in_chunks(self):
        folder = self.folder("chunks")
        arrays = {"node-feat": FEATURES, "node-label": LABELS, "train_mask": np.arange(6) < 4}
        for name, array in {**arrays, "cites": CITATIONS.T.copy()}.items():
            np.save(folder / f"{name}.npy", array)

        def file(name):
            return {"format": {"name": "numpy"}, "data": [f"{name}.npy"]}

        (folder / "metadata.json").write_text(json.dumps({
            "graph_name": "library", "node_type": ["author", "paper"], "num_nodes_per_type": [0, 6],
            "edge_type": ["author:writes:paper", "paper:cites:paper"], "num_edges_per_type": [0, 4],
            "edges": {"paper:cites:paper": file("cites")}, "node_data": {"paper": {name: file(name) for name in arrays}}}))
        return folder, "DGLChunked", "masks"

    def in_text(self):
        folder = self.folder("text")
        files = {"raw/num-node-dict.csv": [["author", "paper"], [0, 6]],
                 "raw/triplet-type-list.csv": [["author", "writes", "paper"], ["paper", "cites", "paper"]],
                 "raw/relations/author___writes___paper/num-edge-list.csv": [[0]],
                 "raw/relations/paper___cites___paper/num-edge-list.csv": [[4]],
                 "raw/relations/paper___cites___paper/edge.csv": CITATIONS.T,
                 "raw/node-feat/paper/node-feat.csv": FEATURES, "raw/node-label/paper/node-label.csv": LABELS[:, None],
                 "split/random/paper/train.csv": [[0], [1], [2], [3]], "split/random/paper/valid.csv": [[4]],
                 "split/random/paper/test.csv": [[5]]}
        for name, rows in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text("".join(",".join(map(str, row)) + "\n" for row in rows))
        return folder, "OGB", "random"

    def test_a_job_names_features_of_an_empty_type(self):
        for source, source_format, split in (self.in_npy(), self.in_chunks(), self.in_text()):
            with self.subTest(source_format):
                document = job(source, source_format, graph__partitions={"count": 2, "algorithm": "Random"},
                               training__task={"type": "NodeClassification", "nodeType": "paper", "label": "node-label",
                                               "split": split},
                               training__inputs=[{"nodeType": name, "features": ["node-feat"]}
                                                 for name in ("paper", "author")])
                for _ in ("cut", "reused"):
                    done = espalier("run", "-f", self.write_job(document), "--output", self.dir / f"{source.name}-run",
                                    "--restart", timeout=120)
                    self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
