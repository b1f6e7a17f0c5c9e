"""docs/guide/buckets.md: a job whose data and outputs lie in a bucket."""

# [example]
import espalier as ep

results = ep.run("cora-s3.yaml", "runs/cora-s3-in-python",
                 set={"output.uri": "s3://lab/results/cora-in-python", "training.epochs": 5})
print(results.partitions)
g = ep.DistGraph(results.partitions)  # s3://lab/...
print(g.ndata["node-feat"][[0, 1, 2]].shape)
# [example]
