"""docs/guide/going-on.md: cut in one and in three, the parameters are the same."""

# [example]
import espalier as ep

digests = set()
for count in (1, 3):
    results = ep.run("cora.yaml", f"runs/cut-in-{count}", set={
        "training.epochs": 5, "trainers.replicas": 1, "graph.partitions.count": count})
    digests.add(results.result["parametersDigest"])
print(digests)
assert len(digests) == 1
# [example]
