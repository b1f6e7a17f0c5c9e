"""Arrays to partitions: python partitioning.py FOLDER"""

import sys

folder = sys.argv[1]

# [example]
import numpy as np

import espalier as ep

sources, destinations = np.array([0, 1, 2, 3]), np.array([1, 2, 3, 0])
ep.write_graph(f"{folder}/graph", "ring", nodes={"node": (4, {"feat": np.eye(4, dtype="float32")})},
               edges={("node", "next", "node"): (sources, destinations, {"weight": np.ones(4, "float32")})},
               splits=[{"name": "halves", "type": "node", "train": np.array([0, 1]), "test": np.array([2, 3])}])
g = ep.DistGraph(ep.partition(f"{folder}/graph", f"{folder}/partitions", count=2))
print(g.num_nodes(), g.num_edges(), g.node_splits["node", "halves"]["test"])  # 4 4 2
# [example]
