"""Batch normalization over the rows of all ranks, as in the C++ trainer."""

import torch
from torch import nn

from espalier.distributed import ProcessGroup

_EPSILON, _MOMENTUM = 1e-5, 0.1


class BatchNorm(nn.Module):
    """Batch normalization (Ioffe, Szegedy 2015) of float32 [rows, width]. Counterpart of torch's BatchNorm1d, without
    its counter of batches, which model files do not contain.

    group: a ProcessGroup whose ranks share the statistics. They normalize as one rank with the rows of all ranks would,
    and have the same running statistics. During training, every rank must call forward and backward for the same layers
    in the same order, even with zero rows. None: uses the statistics of this rank's rows. (torch's SyncBatchNorm does
    not support CPU tensors.)
    """

    def __init__(self, width: int, group: ProcessGroup | None = None) -> None:
        super().__init__()
        self._group = group
        self.weight, self.bias = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))
        self.register_buffer("running_mean", torch.zeros(width))
        self.register_buffer("running_var", torch.ones(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self._group is None or not self.training:
            return nn.functional.batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias,
                                            self.training, _MOMENTUM, _EPSILON)
        with torch.no_grad():
            rows = x.double()
            count = torch.tensor([len(x)], dtype=torch.float64, device=x.device)
            *sums, count = _sum_over_ranks(self._group, rows.sum(0), rows.square().sum(0), count)
            mean, square = (values / count.clamp(min=1) for values in sums)
            variance = (square - mean.square()).clamp(min=0)
            if count > 0:
                unbiased = variance * count / (count - 1).clamp(min=1)
                self.running_mean.mul_(1 - _MOMENTUM).add_(mean.float(), alpha=_MOMENTUM)
                self.running_var.mul_(1 - _MOMENTUM).add_(unbiased.float(), alpha=_MOMENTUM)
            deviation = (variance + _EPSILON).sqrt()
        return _Normalize.apply(x, self.weight, self.bias, mean.float(), (1 / deviation).float(), count, self._group)


class _Normalize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, mean, inverse, count, group):
        ctx.save_for_backward(x, weight, mean, inverse, count)
        ctx.group = group
        return (x - mean) * inverse * weight + bias

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, gradient):
        # With h = (x - mean) / deviation and n rows of all ranks:
        # dx = weight / deviation * (dy - sum(dy) / n - h * sum(dy h) / n)
        x, weight, mean, inverse, count = ctx.saved_tensors
        h = (x - mean) * inverse
        # The gradients of weight and bias are this rank's share, like the gradients of other parameters.
        of_bias, of_weight = gradient.double().sum(0), (gradient.double() * h.double()).sum(0)
        sums = _sum_over_ranks(ctx.group, of_bias, of_weight)
        mean_dy, mean_dy_h = ((values / count.clamp(min=1)).float() for values in sums)
        of_x = weight * inverse * (gradient - mean_dy - h * mean_dy_h)
        return of_x, of_weight.float(), of_bias.float(), None, None, None, None


def _sum_over_ranks(group, *parts):
    """Returns the sums of float64 tensors over all ranks, added in the order of the ranks."""
    gathered = torch.from_numpy(group.all_gather(torch.cat(parts).cpu().numpy())).to(parts[0].device)
    total = gathered[0].clone()
    for of_rank in gathered[1:]:
        total += of_rank
    return torch.split(total, [len(part) for part in parts])
