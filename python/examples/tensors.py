"""Distributed tensors. Of Cora: ESPALIER_PARTITIONS=parts/KEY python tensors.py"""

import espalier as ep

g = ep.DistGraph()

# [example]
visits = ep.DistTensor.create(g, (2,), "float32", name="visits", ntype="node")  # a row for each node
visits[[0, 1]] = [[1, 2], [3, 4]]
visits.add([1, 1], [[1, 1], [1, 1]])
print(visits[[0, 1, 2]].tolist(), visits.sum())  # [[1.0, 2.0], [5.0, 6.0], [0.0, 0.0]] [6. 8.]

table = ep.DistTensor.create(g, (1000, 8), init="normal", init_values=(0, 0.1), seed=1)  # rows of its own
print(table.shape, table.dtype)  # (1000, 8) float32

g.ndata["visits"] = visits  # a column of this process's graph, which loaders read too
print(g.ndata["visits"].shape)  # (2708, 2)
# [example]
