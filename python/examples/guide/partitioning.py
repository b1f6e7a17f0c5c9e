"""docs/guide/data.md: how well a graph can be cut."""

# [example]
import numpy as np

import espalier as ep

folder = ep.partition("papers-clean", "partitions", count=4, balance=["TrainNodes"], seed=1,
                      flags=["--train-split", "random"])
g = ep.DistGraph(folder)
book = g.get_partition_book()
print("papers in each partition:", np.diff(book.node_ranges()))
sources, destinations = g.find_edges(np.arange(g.num_edges()))
is_cut = book.nid2partid(sources) != book.nid2partid(destinations)
print(f"edges that are cut: {is_cut.mean():.0%}")
# [example]
