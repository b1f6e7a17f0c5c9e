"""One rank of a job with torch.distributed: the part that its first argument names."""

import os
import sys

import torch
import torch.distributed as dist

import espalier as ep


def gloo():
    dist.init_process_group("gloo")
    g = ep.DistGraph()
    values = torch.tensor([g.rank() + 1.0])
    dist.all_reduce(values)
    assert (dist.get_rank(), dist.get_world_size()) == (g.rank(), g.world_size)
    print("result", dist.get_rank(), dist.get_world_size(), os.environ["LOCAL_RANK"], values.item(), flush=True)
    dist.barrier()


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
