"""The models of the C++ trainer in PyTorch: parameters go from Python to a job and back. Needs torch.

    ESPALIER_BIN=build/release/bin ESPALIER_PARTITIONS=parts/KEY python model_files.py FOLDER
"""

import pathlib
import sys

folder = pathlib.Path(sys.argv[1])
folder.mkdir()

# [example]
import espalier as ep
import espalier.nn

g = ep.DistGraph()
model = ep.nn.models.GraphSAGE(g, 1433, hidden_size=64, num_outputs=7, num_layers=2, dropout=0.5)
print(model.layer0.fc_self.weight.shape, model.output_bias.shape)  # torch.Size([64, 1433]) torch.Size([7])
model.save(folder / "begun.safetensors", features="node-feat")

# A job that starts with the parameters in this file.
results = ep.run("services/examples/cora.yaml", folder / "run",
                 set={"training.epochs": 20, "training.model.uri": str(folder / "begun.safetensors")})
trained = ep.nn.load_model(g, folder / "run/model/best.safetensors")
outputs, hidden = ep.infer(trained, g, "node-feat", hidden=True)  # DistTensors

# Writes files with the names and formats of a job's own outputs.
ep.write_predictions(g, outputs, uri=folder / "python")
ep.write_embeddings(g, hidden, uri=folder / "python")
mine = ep.Results(folder / "python")
ids, classes = mine.predictions()
print((classes == results.predictions()[1]).mean() > 0.999, mine.embeddings()[1].shape)  # True (2708, 64)
# [example]
