"""DGL's built-in functions of messages: `copy_u("h", "m")`, `u_dot_v("h", "h", "score")`, `sum("m", "h")` and others,
for `apply_edges` and `update_all` of blocks and pair graphs. u is the source of an edge, v its destination and e the
edge."""

import collections
from typing import TYPE_CHECKING

Message = collections.namedtuple("Message", ["operation", "left", "left_column", "right", "right_column", "out"])
Reduction = collections.namedtuple("Reduction", ["operation", "message", "out"])

_OPERATIONS = ("add", "sub", "mul", "div", "dot")


def _binary(operation, left, right):
    def make(lhs_field: str, rhs_field: str, out: str) -> Message:
        return Message(operation, left, lhs_field, right, rhs_field, out)

    make.__name__ = f"{left}_{operation}_{right}"
    make.__doc__ = f"Returns the function that sets edges' `out` by {operation} of columns of {left} and {right}."
    return make


for _operation in _OPERATIONS:
    for _left, _right in (("u", "v"), ("v", "u"), ("u", "e"), ("e", "u"), ("v", "e"), ("e", "v")):
        globals()[f"{_left}_{_operation}_{_right}"] = _binary(_operation, _left, _right)

if TYPE_CHECKING:  # created by the loop
    def u_add_v(lhs_field: str, rhs_field: str, out: str) -> Message: ...

    u_sub_v = u_mul_v = u_div_v = u_dot_v = v_add_u = v_sub_u = v_mul_u = v_div_u = v_dot_u = u_add_v
    u_add_e = u_sub_e = u_mul_e = u_div_e = u_dot_e = e_add_u = e_sub_u = e_mul_u = e_div_u = e_dot_u = u_add_v
    v_add_e = v_sub_e = v_mul_e = v_div_e = v_dot_e = e_add_v = e_sub_v = e_mul_v = e_div_v = e_dot_v = u_add_v


def copy_u(u: str, out: str) -> Message:
    """Returns the function that sets edges' `out` to the source's `u`."""
    return Message("copy", "u", u, None, None, out)


def copy_e(e: str, out: str) -> Message:
    """Returns the function that sets edges' `out` to the edge's `e`."""
    return Message("copy", "e", e, None, None, out)


def sum(msg: str, out: str) -> Reduction:
    """Returns the function that sets destinations' `out` to the sum of their edges' `msg`."""
    return Reduction("sum", msg, out)


def mean(msg: str, out: str) -> Reduction:
    """Like `sum`, with the mean, or 0 without edges."""
    return Reduction("mean", msg, out)


def max(msg: str, out: str) -> Reduction:
    """Like `sum`, with the largest value, or 0 without edges."""
    return Reduction("max", msg, out)


def min(msg: str, out: str) -> Reduction:
    """Like `sum`, with the smallest value, or 0 without edges."""
    return Reduction("min", msg, out)
