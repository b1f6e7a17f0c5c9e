"""A graph: counts, columns, ids and in-edges. Of Cora: ESPALIER_PARTITIONS=parts/KEY python graph.py"""

# [example]
import espalier as ep

g = ep.DistGraph()
print(g.num_nodes(), g.num_edges(), g.ntypes, g.canonical_etypes)  # 2708 10556 ['node'] [('node', 'edge', 'node')]
print(g.node_splits["node", "public"])  # {'train': 140, 'validation': 500, 'test': 1000}

column = g.ndata["node-feat"]  # reads nothing yet; with several node types: g.nodes["paper"].data["feat"]
print(column.shape, column.dtype)  # (2708, 1433) float32
nodes = g.to_global_ids([0, 1, 2])  # the global ids of nodes 0, 1 and 2 of the input graph
print(column[nodes].shape, g.ndata["node-label"][nodes].reshape(-1))  # (3, 1433) [3 4 4]
print(g.in_degrees(nodes), g.to_original_ids(nodes))  # [3 3 5] [0 1 2]

frontier = ep.sample_neighbors(g, nodes, 2, seed=7)  # at most 2 in-edges of each; -1: all, as ep.in_subgraph
sources, destinations = frontier.edges()
block = ep.to_block(g, frontier, nodes)
print(len(sources), block.num_dst_nodes(), block.num_edges())  # 6 3 6
# [example]
