"""A job of Espalier's own trainers. In the root of the source tree: python python/examples/job.py FOLDER"""

import sys

import espalier as ep

output = sys.argv[1]

# [example]
results = ep.run("services/examples/cora.yaml", output, set={"training.epochs": 5, "training.seed": 2})
print(results.result["trainers"], len(results.epochs))  # 2 5
ids, values = results.embeddings()  # ids of the input graph; values are mapped from the file
print(ids.shape, values.shape)  # (2708,) (2708, 64)
g = ep.DistGraph(results.partitions)
print(g.num_nodes())  # 2708
# [example]
