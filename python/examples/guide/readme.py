"""README.md: a job, and the mini-batches of a training loop."""

# [example]
import espalier as ep

results = ep.run("job.yaml", "runs/first")  # the same job; below, mini-batches for a loop of your own
g = ep.DistGraph(results.partitions)
sampler = ep.NeighborSampler([25, 10], prefetch_node_feats="node-feat", prefetch_labels="node-label")
for batch in ep.DistNodeDataLoader(g, ep.NodesOfSplit("public", "train"), sampler, batch_size=64, seed=1):
    x, y = batch.blocks[0].srcdata["node-feat"], batch.blocks[-1].dstdata["node-label"]
    print(batch.step, x.shape, y.shape)
# [example]
