"""Negatives of seed edges (dgl.dataloading.negative_sampler), as espalier.negative_sampler has them."""

import espalier as ep
from espalier.dataloading import _Negatives

Uniform = PerSourceUniform = ep.negative_sampler.Uniform


def GlobalUniform(k: int, exclude_self_loops: bool = True, replace: bool = False) -> _Negatives:  # noqa: N802
    """`k` pairs for each edge, both ends uniform; exclude_self_loops and replace are not read."""
    return ep.negative_sampler.GlobalUniform(k)
