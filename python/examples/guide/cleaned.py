"""docs/guide/data.md: a graph is checked and cleaned while it is cut."""

# [example]
import espalier as ep

g = ep.DistGraph(ep.partition("papers-in-python", "partitions-in-python", flags=[
    "--drop-self-loops", "--add-reverse-edges", "--drop-duplicate-edges"]))
print(g.num_nodes(), "papers,", g.num_edges(), "edges,", g.node_splits)
# [example]
