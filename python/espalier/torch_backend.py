"""torch.distributed over a ProcessGroup: the backend "espalier"."""

import functools

import torch
import torch.distributed as dist

from espalier.errors import FailedPrecondition, InvalidArgument

# The dtype in which a sum is computed. Integers of 32 bits are exact in float64.
_SUMMED_AS = {torch.float32: torch.float32, torch.float64: torch.float64, torch.float16: torch.float32,
              torch.bfloat16: torch.float32, torch.int32: torch.float64, torch.uint8: torch.float64,
              torch.int8: torch.float64, torch.bool: torch.float64}
# Functions of the gathered tensors of all ranks. Pairs instead of a dict, because a ReduceOp equals its kind but has
# another hash.
_OF_GATHERED = ((dist.ReduceOp.MIN, lambda gathered: gathered.amin(0)), (dist.ReduceOp.MAX, lambda gathered: gathered.amax(0)),
                (dist.ReduceOp.PRODUCT, lambda gathered: functools.reduce(torch.mul, gathered)))


class _Done(dist.Work):
    """An operation that is already complete when it is returned."""

    def __init__(self, result):
        super().__init__()
        self._future = torch.futures.Future()
        self._future.set_result(result)

    def wait(self, timeout=None):
        return True

    def is_completed(self):
        return True

    def is_success(self):
        return True

    def get_future(self):
        return self._future


class _TorchGroup(dist.ProcessGroup):
    """Operations block: the gradients of a bucket are summed before the backward pass continues."""

    def __init__(self, group):
        super().__init__(group.rank, group.size)
        self._group = group

    def getBackendName(self):
        return "espalier"

    def allreduce(self, tensors, opts=None):
        operation = dist.ReduceOp.SUM if opts is None else opts.reduceOp
        for tensor in tensors:
            self._reduce(tensor, operation)
        return _Done(tensors)

    def allreduce_coalesced(self, tensors, opts=None):
        return self.allreduce(tensors, opts)

    def _reduce(self, tensor, operation):
        if operation == dist.ReduceOp.SUM and tensor.dtype == torch.int64:
            tensor.detach().copy_(self._gather(tensor).sum(0))
            return
        if operation == dist.ReduceOp.SUM or operation == dist.ReduceOp.AVG:
            summed_as = _SUMMED_AS.get(tensor.dtype)
            if summed_as is None:
                raise InvalidArgument(f"all_reduce has no sum, or mean, of {tensor.dtype}")
            values = tensor.detach().to(summed_as).contiguous()  # the tensor itself if no conversion is needed
            self._group.all_reduce(values)
            if operation == dist.ReduceOp.AVG:
                values /= self._group.size
            if values.data_ptr() != tensor.data_ptr():
                tensor.detach().copy_(values)
            return
        for kind, reduce in _OF_GATHERED:
            if operation == kind:
                tensor.detach().copy_(reduce(self._gather(tensor)))
                return
        raise InvalidArgument(f"all_reduce takes SUM, AVG, MIN, MAX and PRODUCT, not {operation}")

    def _gather(self, tensor):
        """Returns the tensors of all ranks: [ranks, ...]."""
        gathered = self._group.all_gather(_bytes(tensor))
        return torch.from_numpy(gathered).view(tensor.dtype).reshape((self._group.size, *tensor.shape))

    def broadcast(self, tensors, opts=None):
        root = 0 if opts is None else opts.rootRank
        for tensor in tensors:
            values = _bytes(tensor).copy()
            self._group.broadcast(values, root)
            tensor.detach().copy_(torch.from_numpy(values).view(tensor.dtype).reshape(tensor.shape))
        return _Done(tensors)

    def allgather(self, outputs, inputs, opts=None):
        for of_ranks, tensor in zip(outputs, inputs, strict=True):
            for output, gathered in zip(of_ranks, self._gather(tensor), strict=True):
                output.detach().copy_(gathered)
        return _Done(outputs)

    def _allgather_base(self, output, tensor, opts=None):
        output.detach().copy_(self._gather(tensor).reshape(output.shape))
        return _Done(output)

    def barrier(self, opts=None):
        self._group.barrier()
        return _Done([])


def _bytes(tensor):
    """Returns the memory of a CPU tensor, or of a contiguous copy, as uint8 [bytes]."""
    if tensor.device.type != "cpu":
        raise InvalidArgument(f"a process group of espalier takes CPU tensors, not {tensor.device}")
    return tensor.detach().contiguous().reshape(-1).view(torch.uint8).numpy()


def init(group):
    """Makes `group` the default group of torch.distributed."""
    if dist.is_initialized():
        raise FailedPrecondition("torch.distributed has a default process group already")

    def create(store, rank, size, timeout):
        return _TorchGroup(group)

    dist.Backend.register_backend("espalier", create, devices=["cpu"])
    # The ranks are already connected, so the store is not used.
    dist.init_process_group("espalier", store=dist.HashStore(), rank=group.rank, world_size=group.size)
