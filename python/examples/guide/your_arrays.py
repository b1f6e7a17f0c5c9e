"""docs/guide/data.md: arrays in memory to a graph in files."""

# [example]
import numpy as np

import espalier as ep

citing, cited = np.load("papers/cites.npy")  # your arrays, wherever they come from
words, topic = np.load("papers/words.npy"), np.load("papers/topic.npy")
parts = {part: np.load(f"papers/{part}.npy") for part in ("train", "validation", "test")}
ep.write_graph("papers-in-python", "papers",
               nodes={"paper": (len(topic), {"words": words, "topic": topic})},
               edges={("paper", "cites", "paper"): (citing, cited, {})},
               splits=[{"name": "random", "type": "paper", **parts}])
# [example]
