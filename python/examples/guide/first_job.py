"""docs/guide/first-job.md: a job on this machine."""

# [example]
import espalier as ep

results = ep.run("cora.yaml", "runs/in-python", set={"training.epochs": 5, "training.model.aggregator": "Pool"})
print(f"test accuracy: {results.result['testAccuracy']:.3f}")
# [example]
