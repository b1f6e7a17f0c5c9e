"""docs/guide/going-on.md: a run with more epochs."""

# [example]
import espalier as ep

results = ep.run("cora.yaml", "runs/in-python", resume=True,
                 set={"training.epochs": 8, "training.model.aggregator": "Pool"})
print([epoch["epoch"] for epoch in results.epochs])
# [example]
