"""Negatives of seed edges (dgl.dataloading.negative_sampler), as espalier.negative_sampler has them."""

import numpy as np

import espalier as ep
from espalier.dataloading import _Negatives

Uniform = PerSourceUniform = ep.negative_sampler.Uniform


class GlobalUniform(_Negatives):
    """At most `k` pairs for each edge, both ends uniform: pairs that exclude_self_loops and replace rule out are drawn,
    and left out of the negative graph. Counterpart of DGL's GlobalUniform.

    exclude_self_loops: no pair joins a node with itself. replace: pairs of a batch may repeat.
    """

    def __init__(self, k: int, exclude_self_loops: bool = True, replace: bool = False) -> None:
        super().__init__("GlobalUniform", k)
        self.exclude_self_loops, self.replace = exclude_self_loops, replace

    def is_negative(self, sources: np.ndarray, destinations: np.ndarray, relations: np.ndarray) -> np.ndarray:
        """Returns which of the drawn pairs are left: bool [pairs]. Ends are rows among a batch's nodes of all types, so
        that equal rows are equal nodes."""
        kept = np.ones(len(sources), bool)
        if not self.replace:
            _, first = np.unique(np.stack([relations, sources, destinations]), axis=1, return_index=True)
            kept[:] = False
            kept[first] = True
        return kept & (sources != destinations) if self.exclude_self_loops else kept
