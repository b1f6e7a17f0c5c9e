"""One rank of a job with torch.distributed. Runs the part that its first argument names."""

import os
import sys

import torch
import torch.distributed as dist

import espalier as ep
import espalier.nn


def gloo():
    dist.init_process_group("gloo")
    g = ep.DistGraph()
    values = torch.tensor([g.rank() + 1.0])
    dist.all_reduce(values)
    assert (dist.get_rank(), dist.get_world_size()) == (g.rank(), g.world_size)
    print("result", dist.get_rank(), dist.get_world_size(), os.environ["LOCAL_RANK"], values.item(), flush=True)
    dist.barrier()
    dist.destroy_process_group()  # its threads may otherwise abort the process while it exits


def operations():
    group = ep.init_process_group(ep.DistGraph())
    group.init_torch()
    rank, ranks = group.rank, group.size
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int32, torch.int64, torch.bool):
        values = torch.arange(6).reshape(2, 3) % 2 + rank
        expected = torch.arange(6).reshape(2, 3) % 2 * ranks + sum(range(ranks))
        summed = values.to(dtype).t()  # not contiguous
        dist.all_reduce(summed)
        assert summed.dtype == dtype and torch.equal(summed.t(), expected.to(dtype)), (dtype, summed)
    large = torch.tensor([2**53 + 1 if rank == 0 else 0])
    dist.all_reduce(large)
    assert large.item() == 2**53 + 1
    values = torch.tensor([rank + 1, 5 - rank])
    for operation, expected in ((dist.ReduceOp.MIN, [1, 6 - ranks]), (dist.ReduceOp.MAX, [ranks, 5]),
                                (dist.ReduceOp.PRODUCT, [6, 60])):
        reduced = values.clone()
        dist.all_reduce(reduced, operation)
        assert reduced.tolist() == expected, (operation, reduced)
    mean = torch.tensor([float(rank)])
    dist.all_reduce(mean, dist.ReduceOp.AVG)
    assert mean.item() == (ranks - 1) / 2
    for root in range(ranks):
        received = torch.full((2, 2), rank, dtype=torch.bfloat16)
        dist.broadcast(received, root)
        assert (received == root).all()
    gathered = [torch.empty(2, dtype=torch.int64) for _ in range(ranks)]
    dist.all_gather(gathered, torch.tensor([rank, 7]))
    assert torch.stack(gathered).tolist() == [[other, 7] for other in range(ranks)]
    joined = torch.empty(ranks, dtype=torch.float32)
    dist.all_gather_into_tensor(joined, torch.tensor([float(rank)]))
    assert joined.tolist() == list(range(ranks))
    objects = [None] * ranks
    dist.all_gather_object(objects, {"rank": rank})
    assert objects == [{"rank": other} for other in range(ranks)]
    dist.barrier()
    try:
        dist.all_reduce(torch.ones(1, dtype=torch.uint16))
        raise AssertionError("numbers of 16 bits without a sign were summed")
    except ep.InvalidArgument:
        pass
    try:
        group.init_torch()
        raise AssertionError("a second default group")
    except ep.FailedPrecondition:
        pass
    dist.destroy_process_group()
    print("result done", flush=True)


def batch_norm():
    """Ranks normalize as one rank with the rows of all ranks would."""
    group = ep.init_process_group(ep.DistGraph())
    rows = [5, 0, 1][:group.size]  # of each rank
    generator = torch.Generator().manual_seed(1)
    x, weights = (torch.randn(sum(rows), 4, generator=generator) * 3 + 1 for _ in range(2))
    joined, layer = torch.nn.BatchNorm1d(4), ep.nn.BatchNorm(4, group)
    with torch.no_grad():
        for module in (joined, layer):
            module.weight.copy_(torch.tensor([1.0, 2.0, -1.0, 0.5]))
    of_all = x.clone().requires_grad_()
    first = sum(rows[:group.rank])
    mine = slice(first, first + rows[group.rank])
    of_rank = x[mine].clone().requires_grad_()
    for _ in range(2):
        expected, found = joined(of_all), layer(of_rank)
        torch.testing.assert_close(found, expected[mine])
        (expected * weights).sum().backward()
        (found * weights[mine]).sum().backward()
    torch.testing.assert_close(of_rank.grad, of_all.grad[mine])
    for name, parameter in layer.named_parameters():
        group.all_reduce(parameter.grad.numpy())
        torch.testing.assert_close(parameter.grad, joined.get_parameter(name).grad)
    for name, buffer in layer.named_buffers():
        torch.testing.assert_close(buffer, joined.get_buffer(name))
    joined.eval(), layer.eval()
    torch.testing.assert_close(layer(x), joined(x))
    print("result", *[value.hex() for value in layer.running_var.tolist()], flush=True)


def batch_norm_of_a_model():
    """The loop of a job whose trainers share statistics; rank 0 saves its parameters."""
    g = ep.DistGraph()
    group = ep.init_process_group(g)
    model = ep.nn.models.GraphSAGE(g, 1433, 16, 7, normalization="batch", seed=3, group=group)
    sampler = ep.NeighborSampler([5, 4], prefetch_node_feats="node-feat", prefetch_labels="node-label")
    loader = ep.DistNodeDataLoader(g, ep.NodesOfSplit("public", "train"), sampler, batch_size=9, seed=3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for batch in loader:
        y = torch.from_numpy(batch.blocks[-1].dstdata["node-label"]).long().reshape(-1)
        outputs = model(batch.blocks, torch.from_numpy(batch.blocks[0].srcdata["node-feat"]))
        loss = torch.nn.functional.cross_entropy(outputs, y, reduction="sum") / batch.global_num_seeds
        optimizer.zero_grad()
        loss.backward()
        for parameter in model.parameters():
            group.all_reduce(parameter.grad.numpy())
        optimizer.step()
    if group.rank == 0:
        model.save(os.path.join(os.environ["ESPALIER_OUTPUT"], "trained.safetensors"), features="node-feat")
    print("result done", flush=True)


def data_parallel():
    group = ep.init_process_group(ep.DistGraph())
    group.init_torch()
    torch.manual_seed(group.rank)  # parameters are broadcast from rank 0
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(),
                                                                          torch.nn.Linear(16, 2)))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    data = torch.Generator().manual_seed(group.rank)
    with model.join():
        for _ in range(5 + group.rank):  # ranks have different numbers of batches
            optimizer.zero_grad()
            model(torch.randn(4, 8, generator=data)).square().sum().backward()
            optimizer.step()
    digest = [parameter.double().sum().item() for parameter in model.parameters()]
    print("result", *[value.hex() for value in digest], flush=True)
    dist.barrier()


def error():
    dist.init_process_group("gloo")
    raise ep.NotFound("a column that the graph does not have")


if __name__ == "__main__":
    globals()[sys.argv[1]]()
