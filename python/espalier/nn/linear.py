"""Matrix products of layers: by oneDNN on x86 processors, by torch.mm elsewhere, with results in reused memory."""

import functools
import platform

import numpy as np
import torch
from torch import nn
from torch.autograd.function import once_differentiable

from espalier import _core
from espalier.nn.buffers import uninitialized

# On an AMD EPYC with AVX-512, oneDNN is 2.4 times as fast as oneMKL, which torch.mm uses. It was not measured on
# processors other than x86. torch has the operation that calls oneDNN for its compiler.
_HAS_ONEDNN = (platform.machine() in ("x86_64", "AMD64") and torch.backends.mkldnn.is_available()
               and hasattr(torch.ops.mkldnn, "_linear_pointwise"))
# Rows for each call of the operation. It allocates its result, which is copied to reused memory while it is in the
# processor's cache.
_BLOCK_ROWS = 1024


@functools.cache
def _keep_memory_of_blocks():
    # glibc returns the memory of a block to the system, and the next block maps it again, until a larger allocation was
    # freed: then it keeps up to twice the size of that one, at most 64 MiB (mallopt(3), M_MMAP_THRESHOLD). numpy does
    # not write to it, so it takes no memory.
    np.empty(31 << 20, np.uint8)


def _uses_onednn():
    return _HAS_ONEDNN and torch.backends.mkldnn.enabled


def _blocks(rows):
    return [slice(first, first + _BLOCK_ROWS) for first in range(0, rows, _BLOCK_ROWS)]


def _by_onednn(a, b, bias=None):
    """Returns a @ b + bias, of matrices that are not empty."""
    # If weight.t() is contiguous, oneDNN multiplies with code that it generates once for all shapes. Otherwise it
    # generates code for every new shape. The operation ignores the strides of the bias.
    weight = b.contiguous().t()
    return torch.ops.mkldnn._linear_pointwise(a, weight, None if bias is None else bias.contiguous(), "none", [], "")


def _product(a, b, bias=None):
    """Returns a @ b + bias."""
    out = uninitialized(a, (a.shape[0], b.shape[1]))
    if not (_uses_onednn() and a.numel() and b.numel()):
        return torch.mm(a, b, out=out) if bias is None else torch.addmm(bias, a, b, out=out)
    _core.use_signal_stack()
    b = b.contiguous()
    if a.shape[0] > _BLOCK_ROWS:
        _keep_memory_of_blocks()
    for rows in _blocks(a.shape[0]):
        out[rows] = _by_onednn(a[rows], b, bias)
    return out


def _product_of_transposed(a, b):
    """Returns a.t() @ b."""
    if not (_uses_onednn() and a.numel() and b.numel()):
        return torch.mm(a.t(), b)
    _core.use_signal_stack()
    total = None
    for rows in _blocks(a.shape[0]):
        part = _by_onednn(a[rows].t(), b[rows])
        total = part if total is None else total.add_(part)
    return total


class _MatMul(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b, bias):
        # Each gradient is a product with the other operand.
        ctx.save_for_backward(a if ctx.needs_input_grad[1] else None, b if ctx.needs_input_grad[0] else None)
        return _product(a, b, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        a, b = ctx.saved_tensors
        gradient = gradient.contiguous()
        of_a = of_b = of_bias = None
        if ctx.needs_input_grad[0]:
            of_a = _product(gradient, b.t())
        if ctx.needs_input_grad[1]:  # transposing copies a matrix, so the narrower one is transposed
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


def _is_traced():
    """Returns whether torch.compile or torch.jit.trace records operations."""
    is_compiling = getattr(torch.compiler, "is_compiling", lambda: False)  # since torch 2.3
    return is_compiling() or torch.jit.is_tracing()


def matmul(a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    """Returns a @ b + bias: a [rows, in], b [in, out], bias [out] or None, to [rows, out]. Only first derivatives are
    supported. Operands that are not dense float32 matrices on the CPU are multiplied by torch, as are all within
    autocast, and while torch.compile or torch.jit.trace records operations."""
    if _is_traced():
        return nn.functional.linear(a, b.t(), bias)
    tensors = (a, b) if bias is None else (a, b, bias)
    fits = a.dim() == b.dim() == 2 and a.shape[1] == b.shape[0] and (bias is None or bias.shape == b.shape[1:])
    if not fits or _autocasts() or any(
            tensor.device.type != "cpu" or tensor.dtype != torch.float32 or tensor.layout != torch.strided
            for tensor in tensors):
        return nn.functional.linear(a, b.t(), bias)
    return _MatMul.apply(a, b, bias)


class Linear(nn.Linear):
    """torch.nn.Linear that multiplies with matmul."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return matmul(input, self.weight.t(), self.bias)
