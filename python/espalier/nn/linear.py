"""torch's linear map with outputs and gradients in reused memory."""

import torch
from torch.autograd.function import once_differentiable

from espalier.nn.buffers import uninitialized


class _Linear(torch.autograd.Function):
    # The matrix products are those of nn.functional.linear and of its gradient, so results are bitwise equal.
    @staticmethod
    def forward(ctx, x, weight, bias):
        ctx.save_for_backward(x, weight)
        out = uninitialized(x, (x.shape[0], weight.shape[0]))
        if bias is None:
            return torch.mm(x, weight.t(), out=out)
        return torch.addmm(bias, x, weight.t(), out=out)

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        x, weight = ctx.saved_tensors
        of_x = of_weight = of_bias = None
        if ctx.needs_input_grad[0]:
            of_x = torch.mm(gradient, weight, out=uninitialized(gradient, x.shape))
        if ctx.needs_input_grad[1]:
            of_weight = torch.mm(gradient.t(), x)
        if ctx.needs_input_grad[2]:
            of_bias = gradient.sum(0)
        return of_x, of_weight, of_bias


def _autocasts():
    """Returns whether torch.autocast is enabled for CPUs."""
    try:
        return torch.is_autocast_enabled("cpu")
    except TypeError:  # before torch 2.4
        return torch.is_autocast_cpu_enabled()


def linear(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    """Returns x @ weight.t() + bias, bitwise equal to torch.nn.functional.linear: x [rows, in], weight [out, in], bias
    [out] or None, to [rows, out]. Only first derivatives are supported."""
    tensors = (x, weight) if bias is None else (x, weight, bias)
    if _autocasts() or any(
            tensor.device.type != "cpu" or tensor.dtype != torch.float32 for tensor in tensors):
        return torch.nn.functional.linear(x, weight, bias)
    return _Linear.apply(x, weight, bias)
