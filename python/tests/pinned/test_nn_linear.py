"""Tests the matrix products of layers against torch's in float64, with and without oneDNN."""

import unittest

import torch

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

    def test_gradients_are_computed_only_if_needed(self):
        x, weight = torch.randn(5, 4), torch.randn(4, 3, requires_grad=True)
        matmul(x, weight).sum().backward()
        self.assertIsNone(x.grad)
        self.assertEqual(weight.grad.shape, (4, 3))


if __name__ == "__main__":
    unittest.main()
