"""Negatives of seed edges (dgl.dataloading.negative_sampler): those of espalier.negative_sampler."""

import numpy as np

import espalier as ep
from espalier.dataloading import _Negatives

Uniform = PerSourceUniform = ep.negative_sampler.Uniform


class GlobalUniform(_Negatives):
    """At most `k` pairs with uniform endpoints for each edge. Sampled pairs that exclude_self_loops and replace do not
    allow are omitted from the negative graph. Counterpart of DGL's GlobalUniform.

    exclude_self_loops: whether to omit pairs of a node with itself. replace: whether pairs of a batch may repeat.
    """

    def __init__(self, k: int, exclude_self_loops: bool = True, replace: bool = False) -> None:
        super().__init__("GlobalUniform", k)
        self.exclude_self_loops, self.replace = exclude_self_loops, replace

    def is_negative(self, sources: np.ndarray, destinations: np.ndarray, relations: np.ndarray) -> np.ndarray:
        """Returns which of the sampled pairs are kept: bool [pairs]. Endpoints are row numbers counted through all
        types of a batch's nodes, so equal numbers mean equal nodes."""
        kept = np.ones(len(sources), bool)
        if not self.replace:
            _, first = np.unique(np.stack([relations, sources, destinations]), axis=1, return_index=True)
            kept[:] = False
            kept[first] = True
        return kept & (sources != destinations) if self.exclude_self_loops else kept
