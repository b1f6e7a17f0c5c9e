"""Tests the matrix products of layers against torch's in float64, with and without oneDNN."""

import subprocess
import sys
import unittest
from unittest import mock

import torch

from espalier.nn import linear
from espalier.nn.linear import Linear, matmul

# More rows than one block of the gradient holds, a wider input, a wider output, single rows and columns, no rows.
SHAPES = ((5000, 7, 12), (5000, 12, 7), (4096, 16, 16), (700, 512, 16), (1, 7, 3), (7, 1, 3), (7, 3, 1), (0, 3, 4))


def _product_and_gradients(product, rows, inputs, outputs, with_bias, dtype=torch.float32):
    torch.manual_seed(1)
    shapes = [(rows, inputs), (outputs, inputs)] + ([(outputs,)] if with_bias else [])
    x, weight, *bias = (torch.randn(shape).to(dtype).requires_grad_() for shape in shapes)
    y = product(x, weight.t(), *bias)
    y.backward(torch.randn(rows, outputs).to(dtype))
    return [y, *(tensor.grad for tensor in (x, weight, *bias))]


def _by_torch(a, b, bias=None):
    return a @ b if bias is None else a @ b + bias


class Products(unittest.TestCase):
    def test_products_and_gradients_match_torch(self):
        for rows, inputs, outputs in SHAPES:
            for with_bias in (False, True):
                expected = _product_and_gradients(_by_torch, rows, inputs, outputs, with_bias, torch.float64)
                for enabled in (False, True):
                    with torch.backends.mkldnn.flags(enabled=enabled):
                        found = _product_and_gradients(matmul, rows, inputs, outputs, with_bias)
                    with self.subTest(rows=rows, inputs=inputs, outputs=outputs, with_bias=with_bias, enabled=enabled):
                        for one, other in zip(found, expected):
                            torch.testing.assert_close(one.double(), other, rtol=1e-4, atol=1e-3)

    def test_without_onednn_products_have_the_bits_of_torch(self):
        with torch.backends.mkldnn.flags(enabled=False):
            for with_bias in (False, True):
                found = [_product_and_gradients(product, 3000, 200, 256, with_bias)
                         for product in (matmul, lambda a, b, *bias: torch.nn.functional.linear(a, b.t(), *bias))]
                for one, other in zip(*found):
                    self.assertTrue(torch.equal(one, other))

    def test_matrices_in_any_layout(self):
        a, b = torch.randn(40, 30), torch.randn(30, 20)
        expected = matmul(a, b)
        self.assertTrue(torch.equal(matmul(a.t().contiguous().t(), b), expected))
        self.assertTrue(torch.equal(matmul(a, b.t().contiguous().t()), expected))

    def test_torch_multiplies_other_dtypes_and_within_autocast(self):
        layer = Linear(4, 3)
        x = torch.randn(5, 4)
        self.assertEqual(Linear(4, 3, dtype=torch.float64)(x.double()).dtype, torch.float64)
        self.assertEqual(layer(x[None]).shape, (1, 5, 3))
        with torch.autocast("cpu", torch.bfloat16):
            self.assertEqual(layer(x).dtype, torch.bfloat16)

    def test_shapes_that_do_not_fit_are_refused(self):
        for a, b in (((2, 3), (2, 3)), ((3,), (2, 3))):
            with self.subTest(a=a, b=b), self.assertRaises(RuntimeError):
                matmul(torch.ones(a), torch.ones(b))
        with self.assertRaises(RuntimeError):
            Linear(4, 3)(torch.ones(5, 3))

    def test_biases_in_any_layout(self):
        x, weight = torch.randn(5, 4), torch.randn(4, 3)
        for bias in (torch.arange(6.0)[::2], torch.tensor([5.0]).expand(3)):
            torch.testing.assert_close(matmul(x, weight, bias), x @ weight + bias)

    def test_gradients_in_any_layout(self):
        x, weight = torch.randn(50, 4), torch.randn(4, 3, requires_grad=True)
        matmul(x, weight).sum().backward()  # an expanded gradient
        torch.testing.assert_close(weight.grad, x.sum(0)[:, None].expand(4, 3), rtol=1e-4, atol=1e-4)

    @unittest.skipUnless(linear._HAS_ONEDNN, "needs oneDNN on x86")
    def test_onednn_multiplies_forward_and_backward(self):
        x, weight = torch.randn(5, 4, requires_grad=True), torch.randn(4, 3, requires_grad=True)
        for enabled, calls in ((True, 3), (False, 0)):
            with torch.backends.mkldnn.flags(enabled=enabled), torch.profiler.profile() as profile:
                matmul(x, weight).sum().backward()
            found = [event.count for event in profile.key_averages() if event.key == "mkldnn::_linear_pointwise"]
            self.assertEqual(sum(found), calls)

    def test_gradients_are_computed_only_if_needed(self):
        with mock.patch.object(linear, "_product_of_transposed", side_effect=AssertionError):
            x = torch.randn(5, 4, requires_grad=True)
            hidden = x + 1
            y = matmul(hidden, torch.ones(4, 3))
            hidden.relu_()  # backward would refuse it if `hidden` were saved
            y.sum().backward()
        self.assertTrue(torch.equal(x.grad, torch.full((5, 4), 3.0)))
        weight = torch.ones(4, 3, requires_grad=True)
        y = matmul(x.detach(), weight)
        with mock.patch.object(linear, "_product", side_effect=AssertionError):
            y.sum().backward()
        self.assertEqual(weight.grad.shape, (4, 3))

    def test_second_derivatives_are_refused(self):
        x = torch.randn(5, 4, requires_grad=True)
        gradient, = torch.autograd.grad(matmul(x, torch.randn(4, 3)).square().sum(), x, create_graph=True)
        with self.assertRaisesRegex(RuntimeError, "once_differentiable"):
            gradient.sum().backward()

    def test_sparse_matrices_and_traced_products_use_torch(self):
        layer, x = Linear(4, 3), torch.randn(5, 4)
        torch.testing.assert_close(layer(x.to_sparse()), layer(x))
        torch.testing.assert_close(torch.jit.trace(layer, x)(x), layer(x))
        compiled = torch.compile(layer, fullgraph=True, backend="eager")
        torch.testing.assert_close(compiled(x), layer(x))


    @unittest.skipUnless(linear._HAS_ONEDNN, "needs oneDNN on x86")
    def test_signals_may_arrive_during_products(self):
        """oneDNN's code uses the stack pointer for other addresses. Without a stack for signal handlers, the process
        ends within the first products."""
        done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, "True\n"), done.stderr)


INTERRUPTED = """
import signal, threading
import torch
from espalier.nn.linear import matmul
signals = 0
def count(*_):
    global signals
    signals += 1
def multiply():
    for rows in (140, 800, 300) * 300:
        matmul(torch.randn(rows, 500), torch.randn(500, 64))
signal.signal(signal.SIGALRM, count)
signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
torch.set_num_threads(1)
multiply()
thread = threading.Thread(target=multiply)
thread.start()
thread.join()
signal.setitimer(signal.ITIMER_REAL, 0)
print(signals > 0)
"""

if __name__ == "__main__":
    unittest.main()
