"""Mini-batches of nodes. Of Cora: ESPALIER_PARTITIONS=parts/KEY python node_loader.py"""

import espalier as ep

g = ep.DistGraph()

# [example]
sampler = ep.NeighborSampler([10, 25], prefetch_node_feats="node-feat", prefetch_labels="node-label")
loader = ep.DistNodeDataLoader(g, ep.NodesOfSplit("public", "train"), sampler, batch_size=64, seed=1)
for batch in loader:  # one epoch; the next loop is the next epoch
    first, last = batch.blocks
    x = first.srcdata["node-feat"]  # [len(batch.input_nodes), 1433]
    y = last.dstdata["node-label"]  # [len(batch.output_nodes), 1]
    print(batch.epoch, batch.step, len(batch.output_nodes))  # 0 0 64
    break  # `for input_nodes, output_nodes, blocks in loader` works too

indptr, indices = first.csc()  # in-edges of row i: indices[indptr[i]:indptr[i + 1]]
sources, destinations = first.edges()  # the same as pairs of rows
print(first.edge_index().shape == (2, len(indices)))  # True

state = loader.state_dict()  # to be saved with the model
print(state["epoch"], state["step"])  # 0 1
loader.load_state_dict(state)  # a state of this loader, or of one in another process: continues with step 1
print([(batch.epoch, batch.step, batch.num_seeds) for batch in loader])  # [(0, 1, 64), (0, 2, 12)]
# [example]
