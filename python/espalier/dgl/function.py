"""DGL's built-in functions of messages: `copy_u("h", "m")`, `u_dot_v("h", "h", "score")`, `sum("m", "h")` and their
like, for `apply_edges` and `update_all` of blocks and pair graphs. u is the source of an edge, v its destination, e the
edge."""

import collections

Message = collections.namedtuple("Message", ["operation", "left", "left_column", "right", "right_column", "out"])
Reduction = collections.namedtuple("Reduction", ["operation", "message", "out"])

_OPERATIONS = ("add", "sub", "mul", "div", "dot")


def _binary(operation, left, right):
    def make(lhs_field, rhs_field, out):
        return Message(operation, left, lhs_field, right, rhs_field, out)

    make.__name__ = f"{left}_{operation}_{right}"
    make.__doc__ = f"Returns the function that sets edges' `out` by {operation} of columns of {left} and {right}."
    return make


for _operation in _OPERATIONS:
    for _left, _right in (("u", "v"), ("v", "u"), ("u", "e"), ("e", "u"), ("v", "e"), ("e", "v")):
        globals()[f"{_left}_{_operation}_{_right}"] = _binary(_operation, _left, _right)


def copy_u(u, out):
    """Returns the function that sets edges' `out` to the source's `u`."""
    return Message("copy", "u", u, None, None, out)


def copy_e(e, out):
    """Returns the function that sets edges' `out` to the edge's `e`."""
    return Message("copy", "e", e, None, None, out)


def sum(msg, out):
    """Returns the function that sets destinations' `out` to the sum of their edges' `msg`."""
    return Reduction("sum", msg, out)


def mean(msg, out):
    """As `sum`; the mean, and 0 without edges."""
    return Reduction("mean", msg, out)


def max(msg, out):
    """As `sum`; the largest, and 0 without edges."""
    return Reduction("max", msg, out)


def min(msg, out):
    """As `sum`; the smallest, and 0 without edges."""
    return Reduction("min", msg, out)
