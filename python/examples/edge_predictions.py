"""Scores of edges and of other pairs of nodes, in the files of a job's predictions.

    ESPALIER_PARTITIONS=parts/KEY python edge_predictions.py FOLDER
"""

import pathlib
import sys

folder = pathlib.Path(sys.argv[1])

# [example]
import numpy as np

import espalier as ep

g = ep.DistGraph()
rows = g.ndata["node-feat"]  # or what ep.infer has returned


def scores(sources, destinations):
    """Returns a score for each pair: float32 [n]."""
    return (rows[sources] * rows[destinations]).sum(axis=1)


pairs = g.to_global_ids([0, 0]), g.to_global_ids([1, 633])  # pairs need not be edges
ep.write_edge_predictions(g, {"edges": np.arange(100), "candidates": pairs}, scores, task="regression", uri=folder)
sources, destinations, values = ep.Results(folder).predictions("candidates")  # ids of the input graph
print(sources, destinations, values.dtype, len(values))  # [0 0] [  1 633] float32 2
# [example]
