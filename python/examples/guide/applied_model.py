"""docs/guide/results.md: a model is applied, and nothing is trained."""

# [example]
import espalier as ep

applied = ep.run("cora.yaml", "runs/applied-in-python",
                 set={"training.epochs": 0, "training.model.uri": "runs/cora/model/best.safetensors"})
ids, predicted = applied.predictions()
print(ids[:5], predicted[:5])
# [example]
