"""Matrix products of layers: by oneDNN on x86 processors, by torch.mm elsewhere, with results in reused memory."""

import platform

import torch
from torch import nn
from torch.autograd.function import once_differentiable

from espalier.nn.buffers import uninitialized

_IS_X86 = platform.machine() in ("x86_64", "AMD64")
# Large matrices are multiplied in blocks of so many rows, whose results fit in the processor's cache.
_BLOCK_ROWS = 1024
# The C library keeps the memory of a block for the next one: it returns freed memory to the system only if there is more
# of it than twice the largest allocation that was ever freed, up to 64 MiB (mallopt(3), M_MMAP_THRESHOLD). This
# allocation raises the limit. It is never written to, and therefore takes no memory.
torch.empty(31 << 20, dtype=torch.uint8)


def _uses_onednn():
    # oneDNN is as fast on AMD's processors as on Intel's, which is not true of torch.mm. The operation is the one that
    # torch's compiler uses; it is in torch since 2.0. On other processors it would be slower than torch.mm.
    return _IS_X86 and torch.backends.mkldnn.is_available() and torch.backends.mkldnn.enabled


def _blocks(rows):
    return [slice(first, first + _BLOCK_ROWS) for first in range(0, rows, _BLOCK_ROWS)]


def _by_onednn(a, b, bias=None):
    """Returns a @ b + bias, of matrices that are not empty."""
    # If weight.t() is contiguous, oneDNN multiplies with code that it generates once for all shapes. Otherwise it
    # generates code for every new shape.
    weight = b.contiguous().t()
    return torch.ops.mkldnn._linear_pointwise(a, weight, bias, "none", [], "")


def _product(a, b, bias=None):
    """Returns a @ b + bias."""
    out = uninitialized(a, (a.shape[0], b.shape[1]))
    if not (_uses_onednn() and a.numel() and b.numel()):
        return torch.mm(a, b, out=out) if bias is None else torch.addmm(bias, a, b, out=out)
    b = b.contiguous()
    for rows in _blocks(a.shape[0]):
        out[rows] = _by_onednn(a[rows], b, bias)
    return out


def _product_of_transposed(a, b):
    """Returns a.t() @ b."""
    if not (_uses_onednn() and a.numel() and b.numel()):
        return torch.mm(a.t(), b)
    total = None
    for rows in _blocks(a.shape[0]):
        part = _by_onednn(a[rows].t(), b[rows])
        total = part if total is None else total.add_(part)
    return total


class _MatMul(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b, bias):
        ctx.save_for_backward(a, b)
        return _product(a, b, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        a, b = ctx.saved_tensors
        gradient = gradient.contiguous()
        of_a = of_b = of_bias = None
        if ctx.needs_input_grad[0]:
            of_a = _product(gradient, b.t())
        if ctx.needs_input_grad[1]:  # the narrower matrix is transposed
            of_b = (_product_of_transposed(a, gradient) if a.shape[1] <= gradient.shape[1] else
                    _product_of_transposed(gradient, a).t())
        if ctx.needs_input_grad[2]:
            of_bias = gradient.sum(0)
        return of_a, of_b, of_bias


def _autocasts():
    """Returns whether torch.autocast is enabled for CPUs."""
    try:
        return torch.is_autocast_enabled("cpu")
    except TypeError:  # before torch 2.4
        return torch.is_autocast_cpu_enabled()


def matmul(a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    """Returns a @ b + bias: a [rows, in], b [in, out], bias [out] or None, to [rows, out]. Only first derivatives are
    supported. Operands that are not float32 matrices on the CPU are multiplied by torch, as are all within autocast."""
    tensors = (a, b) if bias is None else (a, b, bias)
    fits = a.dim() == b.dim() == 2 and a.shape[1] == b.shape[0] and (bias is None or bias.shape == b.shape[1:])
    if not fits or _autocasts() or any(
            tensor.device.type != "cpu" or tensor.dtype != torch.float32 for tensor in tensors):
        return nn.functional.linear(a, b.t(), bias)
    return _MatMul.apply(a, b, bias)


class Linear(nn.Linear):
    # torch.nn.Linear that multiplies by matmul.
    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return matmul(input, self.weight.t(), self.bias)
