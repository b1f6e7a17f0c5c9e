"""One rank of a job. Runs the part that its first argument names. Ends with an AssertionError if a check fails."""

import json
import os
import pathlib
import sys

import numpy as np

import espalier as ep


def group_operations(g, group):
    assert (group.rank, group.size) == (g.rank(), g.world_size)
    for dtype in (np.float32, np.float64):
        values = np.arange(1000, dtype=dtype).reshape(10, 100) * (group.rank + 1)
        assert group.all_reduce(values) is values
        np.testing.assert_array_equal(values, np.arange(1000).reshape(10, 100) * sum(range(1, group.size + 1)))
    for dtype in (np.int64, bool, np.float16, np.uint8):
        values = (np.arange(6).reshape(2, 3) + group.rank).astype(dtype)
        np.testing.assert_array_equal(group.all_gather(values), [(np.arange(6).reshape(2, 3) + rank).astype(dtype)
                                                                 for rank in range(group.size)])
        for root in range(group.size):
            received = values.copy()
            group.broadcast(received, root)
            np.testing.assert_array_equal(received, (np.arange(6).reshape(2, 3) + root).astype(dtype))
    assert group.all_gather(np.zeros((0, 4))).shape == (group.size, 0, 4)
    for refused in (np.zeros(3, np.int64), np.zeros((4, 4))[:, ::2], [1.0]):
        try:
            group.all_reduce(refused)
        except ep.InvalidArgument:
            continue
        raise AssertionError(f"{refused!r} was summed")
    try:
        group.broadcast(np.zeros(1), root=group.size)
        raise AssertionError("broadcast from a rank that does not exist")
    except ep.InvalidArgument:
        pass
    group.barrier()


def checkpoint_errors(g, group):
    """An error of one rank is raised on all ranks, and the group remains usable."""

    class Model:
        def state_dict(self):
            raise ValueError("no state today")

    uri = os.environ["ESPALIER_OUTPUT"] + "/checkpoints-of-the-program"
    for cause, arguments in (("no state today", {"model": Model()}), ("takes numbers", {"state": {"a set": {1}}})):
        try:
            ep.checkpoint.save(g, group, uri, **arguments)
            raise AssertionError("what cannot be saved was saved")
        except ep.EspalierError as error:
            assert f"trainer 0: {cause}" in str(error).replace("a checkpoint takes", "takes"), error
    assert ep.checkpoint.resume(g, group, uri) is None
    ep.checkpoint.save(g, group, uri, state={"usable": True})
    assert ep.checkpoint.resume(g, group, uri).state == {"usable": True}


def shares(g, group):
    nodes, edges = np.arange(g.num_nodes()), np.arange(g.num_edges())
    mask = ep.DistTensor.create(g, (), bool, name="mask", ntype="node", persistent=True)
    group.barrier()
    if group.rank == 0:
        mask[::3] = True
    group.barrier()
    named = ep.NodesOfSplit("public", "test")
    for all_nodes, split in ((nodes, lambda **options: ep.node_split(nodes, g, **options)),
                             (nodes[::3], lambda **options: ep.node_split(mask, g, **options)),
                             (nodes[::3], lambda **options: ep.node_split(nodes % 3 == 0, g, **options)),
                             (g.split_nodes("public", "test"), lambda **options: ep.node_split(named, g, **options))):
        for local in (False, True):
            check_shares(group, split(local=local), all_nodes, even=not local)
    mine = ep.edge_split(edges, g)
    check_shares(group, mine.ids, edges, even=True, largest=mine.largest)
    np.testing.assert_array_equal(g.find_edges(mine.ids), (mine.sources, mine.destinations))

    # Loaders of shares have as many batches on every rank, and together every seed once.
    for local in (False, True):
        share = ep.node_split(named, g, local=local)
        loader = ep.DistNodeDataLoader(g, share, ep.NeighborSampler([3]), batch_size=2)
        batches = [batch.output_nodes for batch in loader]
        assert (group.all_gather(np.array(len(batches))) == len(batches)).all()
        everything = g.split_nodes("public", "test")
        check_shares(group, np.concatenate(batches), everything, even=not local, largest=share.largest)
    assert np.ptp(group.all_gather(np.array(len(share)))) > 2  # so equal numbers of batches are not trivial
    # Batches of a split are divided among the ranks.
    batches = list(ep.DistNodeDataLoader(g, named, ep.NeighborSampler([3]), batch_size=64))
    sizes = group.all_gather(np.array([batch.num_seeds for batch in batches]))
    assert sizes.sum(axis=0).tolist() == [64] * 15 + [40] == [batch.global_num_seeds for batch in batches]
    seeds = np.concatenate([batch.output_nodes for batch in batches])
    check_shares(group, seeds, g.split_nodes("public", "test"), even=False, largest=sizes.sum(axis=1).max())


def check_shares(group, mine, all_ids, even, largest=None):
    largest = mine.largest if largest is None else largest
    sizes = group.all_gather(np.array(len(mine)))
    assert sizes.sum() == len(all_ids) and sizes.max() == largest
    if even:
        assert np.ptp(sizes) <= 1, sizes
    padded = np.full(largest, -1, np.int64)
    padded[:len(mine)] = mine
    everything = group.all_gather(padded).ravel()
    np.testing.assert_array_equal(np.sort(everything[everything >= 0]), np.sort(all_ids))


def tensors(g, group):
    if group.rank == 0:
        written = ep.DistTensor.create(g, (g.num_nodes(), 3), name="written", persistent=True)
        written[:] = np.arange(3 * g.num_nodes()).reshape(-1, 3)
    group.barrier()
    read = ep.DistTensor.open(g, "written")
    np.testing.assert_array_equal(read[[0, g.num_nodes() - 1]], np.arange(3 * g.num_nodes()).reshape(-1, 3)[[0, -1]])
    group.barrier()
    # All ranks add to the same rows at once.
    read.add(np.repeat([5, 2000], 50), group.rank + 1)
    group.barrier()
    first = np.arange(3 * g.num_nodes()).reshape(-1, 3)[[5, 2000]]
    np.testing.assert_array_equal(read[[5, 2000]], first + 50 * sum(range(1, group.size + 1)))


def features(g, group):
    """Writes the batches of an epoch and a checksum of the columns to a file. They do not depend on the access mode."""
    loader = ep.DistNodeDataLoader(g, ep.NodesOfSplit("public"), ep.NeighborSampler([4, 4], prefetch_node_feats="node-feat"),
                                   batch_size=32, seed=7)
    batches = []
    for batch in loader:
        rows = batch.blocks[0].srcdata["node-feat"]
        np.testing.assert_array_equal(rows, g.ndata["node-feat"][batch.input_nodes])
        batches.append([g.to_original_ids(batch.input_nodes).tolist(), float(rows.sum(dtype=np.float64))])
    folder = pathlib.Path(os.environ["ESPALIER_OUTPUT"])
    (folder / f"batches-{group.rank}.json").write_text(json.dumps(batches))


def not_found(g, group):
    group.barrier()
    if group.rank == 1:
        g.split_nodes("a split that the graph does not have")
    group.barrier()


def gone(g, group):
    """Rank 1 leaves. The pending operation of the other ranks then fails soon, before its deadline."""
    group.barrier()
    if group.rank == 1:
        group.leave()
        return
    try:
        group.barrier(timeout=60)
        raise AssertionError("a barrier without rank 1")
    except ep.Unavailable:
        pass


def outputs(g, group):
    """Each rank computes the rows of its own nodes, and all ranks write them together."""
    rows = ep.DistTensor.create(g, (3,), name="rows", ntype="node")
    mine = ep.node_split(np.arange(g.num_nodes()), g, local=True)
    rows[mine] = np.outer(g.to_original_ids(mine), [1, -1, 2])
    table = ep.DistEmbedding(g, group, 3, name="table")
    ep.optim.SparseSGD([table], lr=1.0)
    table.step(mine, gradients=-rows[mine], lr=1.0)
    group.barrier()
    in_a_file = os.path.join(os.environ["ESPALIER_JOB"], "below")
    try:
        ep.write_embeddings(g, rows, group, uri=in_a_file)
        raise AssertionError("outputs were written below a file")
    except ep.EspalierError as error:  # of rank 0, on all ranks
        assert "trainer 0: " in str(error), error
    ep.write_embeddings(g, table, group)
    ep.write_predictions(g, rows, group)


def edge_outputs(g, group):
    """Each rank computes the scores of its own edges, and all ranks write those of some edges together."""
    scores = ep.DistTensor.create(g, (), name="scores", etype="edge")
    mine = ep.edge_split(np.arange(g.num_edges()), g)
    scores[mine.ids] = g.to_original_ids(mine.sources) - 2.0 * g.to_original_ids(mine.destinations)
    chosen = np.arange(0, g.num_edges(), 3)
    group.barrier()

    def fails(sources, destinations):
        raise ValueError("no scores today")

    try:
        ep.write_edge_predictions(g, {"chosen": chosen}, fails, group)
        raise AssertionError("outputs of a function that fails were written")
    except (ValueError, ep.EspalierError) as error:  # of rank 0, on all ranks
        assert "no scores today" in str(error), error
    ep.write_edge_predictions(g, {"chosen": chosen}, scores, group, task="regression")


if __name__ == "__main__":
    graph = ep.DistGraph()
    globals()[sys.argv[1]](graph, ep.init_process_group(graph))
