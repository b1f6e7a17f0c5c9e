"""One of two ranks. Rank 0 creates a file as soon as rank 1 has joined, then waits for rank 1 in a barrier. Rank 1
joins and waits for the file "end"."""

import os
import pathlib
import sys
import time

import espalier as ep

folder = pathlib.Path(sys.argv[1])
g = ep.DistGraph()
group = ep.init_process_group(g, timeout=120)
(folder / f"joined-{g.rank()}").write_text("")
if g.rank() == 1:
    while not (folder / "end").exists():
        time.sleep(0.01)
    os._exit(0)
try:
    group.barrier(timeout=200)
except KeyboardInterrupt:
    print("interrupted", g.num_nodes(), len(g.in_degrees([0, 2700])), flush=True)
    try:
        group.barrier(timeout=200)
    except ep.EspalierError:
        print("left", flush=True)
    raise
