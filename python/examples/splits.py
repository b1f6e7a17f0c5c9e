"""Shares of ranks. Of Cora: ESPALIER_PARTITIONS=parts/KEY python splits.py"""

import numpy as np

import espalier as ep

g = ep.DistGraph()

# [example]
train = ep.node_split(ep.NodesOfSplit("public", "train"), g)  # ids of this rank's share; with one rank, all of them
print(len(train), train.largest)  # 140 140
is_third = g.ndata["node-label"][:].reshape(-1) == 3
third = ep.node_split(is_third, g)  # a mask may be an array, a column or a DistTensor
print(len(third))  # 818
near = ep.node_split(np.arange(g.num_nodes()), g, local=True)  # nodes of the partitions that are given to this rank
print(len(near))  # 2708
# [example]
