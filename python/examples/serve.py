"""Graph servers for a notebook. ESPALIER_PARTITIONS=parts/KEY python python/examples/serve.py"""

import os

import espalier as ep

partitions = os.environ["ESPALIER_PARTITIONS"]

# [example]
with ep.serve(partitions) as servers:  # a process for each partition
    g = servers.graph()  # or ep.DistGraph(servers=servers.addresses), in other processes too
    print(len(servers.addresses), g.num_nodes())  # 2 2708
# [example]
