"""A loop with an embedding, a vector and random numbers, which resumes from its checkpoints. Rank 0 prints a digest of
the results. KILLED_RANK kills itself once in the middle, and STOPPED_RANK gets SIGTERM there."""

import hashlib
import os
import signal
import sys

import numpy as np

import espalier as ep

checkpoints = sys.argv[1]
g = ep.DistGraph()
group = ep.init_process_group(g)
checkpoint = ep.checkpoint.resume(g, group, checkpoints)
emb = ep.DistEmbedding(g, group, 8, name="emb", init="normal", init_values=(0, 1), seed=1,
                       resume_from=checkpoint and checkpoint.uri)
ep.optim.SparseAdam([emb], lr=0.01)
counts = ep.DistTensor.open(g, "counts", ntype="node") if checkpoint else ep.DistTensor.create(
    g, (), ntype="node", name="counts", dtype=np.int64, persistent=True)
loader = ep.DistNodeDataLoader(g, ep.NodesOfSplit("public"), ep.NeighborSampler([5]), batch_size=16, seed=5)
weights = np.zeros(8)
np.random.seed(group.rank)
if checkpoint:
    checkpoint.restore(loader=loader)
    weights = checkpoint.state["weights"]
for epoch in range(loader.state_dict()["epoch"], 3):
    for batch in loader:
        rows = emb[batch.output_nodes]
        sums = (rows * weights + np.random.rand(8)).sum(axis=0).astype(np.float64)
        weights = weights + 0.01 * group.all_reduce(sums)
        emb.step(batch.output_nodes, (0.1 * rows + weights).astype(np.float32), 0.01)
        counts.add(batch.output_nodes, 1)
        if batch.step % 3 == 2:
            ep.checkpoint.save(g, group, checkpoints, loader=loader, state={"weights": weights}, embeddings=[emb],
                               tensors=[counts])
        if not checkpoint and epoch == 1 and batch.step == 4:
            for number, variable in ((signal.SIGKILL, "KILLED_RANK"), (signal.SIGTERM, "STOPPED_RANK")):
                if str(group.rank) == os.environ.get(variable):
                    os.kill(os.getpid(), number)
        ep.checkpoint.stop_if_asked(g, group, checkpoints, loader=loader, state={"weights": weights, "stopped": True},
                                    embeddings=[emb], tensors=[counts])
group.barrier()
if group.rank == 0:
    everything = hashlib.sha256(weights.tobytes())
    everything.update(emb[np.arange(g.num_nodes())].tobytes())
    everything.update(counts[:].tobytes())
    how = "not interrupted" if not checkpoint else "stopped" if "stopped" in checkpoint.state else "resumed"
    print("digest", everything.hexdigest(), how, flush=True)
group.barrier()
