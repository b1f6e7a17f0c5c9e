"""docs/guide/first-job.md: what a document that is wrong gives."""

# [example]
import espalier as ep

try:
    ep.run("cora.yaml", "runs/wrong", set={"training.epochs": "many", "training.batchSise": 64})
except ep.InvalidArgument as error:
    print(error.exit_code, error)
# [example]
