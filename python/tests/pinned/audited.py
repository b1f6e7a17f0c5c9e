"""Records the edges that DGL's loader samples from Cora: python audited.py FOLDER EPOCHS BATCH_SIZE SEED"""

import os
import sys

import espalier as ep
import espalier.dgl as dgl


def main(folder, epochs, batch_size, seed):
    dgl.seed(seed)
    dgl.distributed.initialize("ip_config.txt")
    g = dgl.distributed.DistGraph("cora")
    nodes = dgl.distributed.node_split(g.ndata["train_mask"], g.get_partition_book(), force_even=True)
    loader = dgl.dataloading.DistNodeDataLoader(g, nodes, dgl.dataloading.NeighborSampler([10, 5]), shuffle=True,
                                                batch_size=batch_size)
    with ep.audit.AuditWriter(g, os.path.join(folder, f"rank-{g.rank()}.bin")) as audit:
        for _ in range(epochs):
            for batch in loader:
                audit.record(batch.mini_batch)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:5]))
