"""docs/guide/results.md: what a run has left."""

# [example]
import numpy as np

import espalier as ep

results = ep.Results("runs/cora")
best = max(results.epochs, key=lambda epoch: epoch["validationAccuracy"])
print(f"best epoch {best['epoch']}: loss {best['loss']:.3f}, validation accuracy {best['validationAccuracy']:.3f}")

g = ep.DistGraph(results.partitions)
ids, predicted = results.predictions()  # ids of your files, as in all outputs
nodes = g.to_global_ids(ids)
is_test = np.isin(nodes, g.split_nodes("public", "test"))
label = g.ndata["node-label"][nodes].reshape(-1)
accuracy = (predicted.reshape(-1) == label)[is_test].mean()
print(f"test accuracy {accuracy:.3f}")
assert round(accuracy, 3) == round(results.result["testAccuracy"], 3)

ids, embedding = results.embeddings()
print(embedding.shape, embedding.dtype)
# [example]
