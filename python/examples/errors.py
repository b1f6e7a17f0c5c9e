"""Errors. Of Cora: ESPALIER_PARTITIONS=parts/KEY python errors.py"""

import espalier as ep

g = ep.DistGraph()

# [example]
try:
    g.to_global_ids([2708])
except ep.OutOfRange as error:  # an IndexError
    print(error.code, error.exit_code)  # OUT_OF_RANGE 65
    print(error)  # original id 2708 of node type 'node' does not exist; expected an id below 2708
# [example]
