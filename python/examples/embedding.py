"""Learnable rows, saved and resumed. Of Cora: ESPALIER_PARTITIONS=parts/KEY python embedding.py FOLDER"""

import sys

import espalier as ep

g = ep.DistGraph()
folder = sys.argv[1]

# [example]
group = ep.init_process_group(g)
loader = ep.DistNodeDataLoader(g, ep.NodesOfSplit("public", "train"), ep.NeighborSampler([5]), batch_size=64, seed=1)
found = ep.checkpoint.resume(g, group, folder)  # None: there is no checkpoint, or ESPALIER_RESUME=never
print("new" if found is None else "resumed")  # new
rows = ep.DistEmbedding(g, group, 16, ntype="node", name="rows", init="normal", init_values=(0, 0.1),
                        resume_from=found and found.uri)
optimizer = ep.optim.SparseAdagrad([rows], lr=0.01)
if found:
    found.restore(loader=loader)

for batch in loader:
    values = rows[batch.input_nodes]  # float32 [n, 16]; with torch, rows(batch.input_nodes), a leaf of autograd
    rows.step(batch.input_nodes, gradients=2 * values, lr=0.01)  # with torch: optimizer.step()
    ep.checkpoint.save(g, group, folder, loader=loader, embeddings=[rows])  # keeps the last two
print(rows.version, loader.state_dict()["epoch"])  # 3 1
# [example]
