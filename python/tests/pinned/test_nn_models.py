"""Compares espalier.nn.models with the C++ trainer: each computes with the parameters of the other, and both take the
same training steps."""

import unittest

import numpy as np
import torch

import espalier as ep
import espalier.nn
import graphs
from espalier.nn import model_file


FANOUTS, RATE = [5, 4], 0.5


def setUpModule():
    global folder, cora, publications
    folder = graphs.make_folder()
    cora = ep.DistGraph(graphs.partition(graphs.CORA, "OGB", 2, folder / "cora", "--normalize-features"))
    publications = graphs.open_publications(folder, [2])[1][2]


def run_job(name, training, typed=False):
    """Runs a job with one trainer on Cora or the typed graph. `training`: fields of spec.training besides the common
    ones."""
    uri, source_format = (folder / "publications", "NPY") if typed else (graphs.CORA, "OGB")
    source = {"uri": str(uri), "format": source_format}
    document = {"apiVersion": "espalier.io/v1alpha1", "kind": "DistTraining", "metadata": {"name": name}, "spec": {
        "graph": {"source": source, "preprocess": {"normalizeFeatures": "None" if typed else "Row"},
                  "partitions": {"count": 2}},
        "training": {"sampling": {"layers": [{"fanout": fanout} for fanout in FANOUTS]}, "batchSize": 64, "epochs": 2,
                     "seed": 1, "optimizer": {"type": "SGD", "learningRate": RATE},
                     "evaluation": {"everyEpochs": 2, "metric": "Accuracy", "neighborhood": "Full"}, **training},
        "trainers": {"replicas": 1, "threads": 1}, "output": {"save": ["Model", "Embeddings", "Predictions"]}}}
    return ep.run(document, folder / name)


def cora_training(model):
    """Returns the fields of spec.training for a model on Cora; publications_training returns those for the typed
    graph."""
    return {"task": {"type": "NodeClassification", "label": "node-label", "split": "public"},
            "inputs": [{"features": ["node-feat"]}], "model": dict(model)}


def publications_training(model):
    return {"task": {"type": "NodeClassification", "nodeType": "paper", "label": "label", "split": "random"},
            "inputs": [{"nodeType": "author", "features": ["feat"]}, {"nodeType": "paper", "features": ["feat"]}],
            "model": dict(model)}


def make_model(g, settings, in_feats, num_outputs, **options):
    """Returns the Python model for training.model of a document."""
    names = {"aggregator": "aggregator", "normalization": "normalization", "heads": "heads", "numBases": "num_bases",
             "outputHeads": "output_heads", "negativeSlope": "negative_slope", "dropout": "dropout",
             "attentionDropout": "attention_dropout"}
    options.update({names[key]: value.lower() if isinstance(value, str) else value
                    for key, value in settings.items() if key in names})
    torch.manual_seed(4)
    return getattr(ep.nn.models, settings["type"])(g, in_feats, settings["hiddenSize"], num_outputs, **options)


MODELS = {
    "mean": {"type": "GraphSAGE", "aggregator": "Mean", "hiddenSize": 16, "dropout": 0.5},
    "gcn-mean": {"type": "GraphSAGE", "aggregator": "GCN", "hiddenSize": 16, "normalization": "Batch", "dropout": 0},
    "pool": {"type": "GraphSAGE", "aggregator": "Pool", "hiddenSize": 16, "normalization": "Layer", "dropout": 0.25},
    "gcn": {"type": "GCN", "hiddenSize": 16, "dropout": 0.5},
    "gat": {"type": "GAT", "hiddenSize": 16, "heads": 4, "outputHeads": 2, "dropout": 0.5, "attentionDropout": 0.25},
    "gatv2": {"type": "GATv2", "hiddenSize": 16, "heads": 4, "negativeSlope": 0.1, "dropout": 0.5,
              "attentionDropout": 0.25},
}


TYPED = {
    "rgcn": {"type": "RGCN", "hiddenSize": 8, "dropout": 0.5},
    "rgcn-bases": {"type": "RGCN", "hiddenSize": 8, "dropout": 0.25, "numBases": 2},
    "typed-mean": {"type": "GraphSAGE", "aggregator": "Mean", "hiddenSize": 8, "dropout": 0.5},
    "typed-pool": {"type": "GraphSAGE", "aggregator": "Pool", "hiddenSize": 8, "dropout": 0},
    "typed-gcn": {"type": "GCN", "hiddenSize": 8, "dropout": 0.5},
    "typed-gat": {"type": "GAT", "hiddenSize": 8, "heads": 2, "dropout": 0, "attentionDropout": 0.5},
    "typed-gatv2": {"type": "GATv2", "hiddenSize": 8, "heads": 2, "outputHeads": 2, "dropout": 0.5},
}


class Interchange(unittest.TestCase):
    """A job starts with parameters that Python has written, and Python takes the same steps as the job. Losses of the
    first epoch and parameters after the last one agree, except for the order of sums in products of matrices."""

    def check(self, name, g, model, training, sampler, seeds, features, ntype=None):
        begun = folder / f"{name}-begun.safetensors"
        model.save(begun, features=",".join(features) if ntype is None else
                   ",".join(f"{of}:{column}" for of, column in features.items()), label="label")
        training["model"]["uri"] = str(begun)
        results = run_job(name, training, typed=ntype is not None)
        loader = ep.DistNodeDataLoader(g, seeds, sampler, batch_size=64, seed=1)
        losses = train(g, model, loader)
        steps = results.result["lossPerStep"]
        self.assertEqual(len(steps), len(loader))
        np.testing.assert_allclose(losses[:len(steps)], steps, rtol=2e-4)
        self.assertNotAlmostEqual(losses[0], losses[-1], 2)

        before, mine = model_file.read_model_file(begun)[0], model.state_dict()
        theirs = model_file.read_model_file(results.folder / "model/last.safetensors")[0]
        self.assertEqual(set(mine), set(theirs))
        changed = 0
        for key, value in mine.items():
            torch.testing.assert_close(value, theirs[key], rtol=1e-3, atol=1e-5, msg=lambda text: f"{key}: {text}")
            changed += not torch.equal(value, before[key])
        self.assertGreater(changed, len(mine) / 2)

        loaded = ep.nn.load_model(g, results.folder / "model/best.safetensors",
                                  seed_types=None if ntype is None else [ntype])
        outputs, hidden = ep.infer(loaded, g, features, hidden=True)
        ids, logits = results.logits(ntype)
        found = (outputs if ntype is None else outputs[ntype])[g.to_global_ids(ids, ntype)]
        np.testing.assert_allclose(found, logits, rtol=1e-3, atol=1e-4)
        for of_type, tensor in ({"node": hidden} if ntype is None else hidden).items():
            ids, embeddings = results.embeddings(of_type)
            found = tensor[g.to_global_ids(ids, of_type)]
            np.testing.assert_allclose(found, embeddings, rtol=1e-3, atol=1e-4)

    def test_models_on_a_graph_of_one_type(self):
        for name, settings in MODELS.items():
            with self.subTest(name):
                sampler = ep.NeighborSampler(FANOUTS, prefetch_node_feats=["node-feat", "original_id"],
                                             prefetch_labels="node-label")
                self.check(name, cora, make_model(cora, settings, 1433, 7), cora_training(settings), sampler,
                           ep.NodesOfSplit("public", "train"), ["node-feat"])

    def test_models_on_a_typed_graph(self):
        for name, settings in TYPED.items():
            with self.subTest(name):
                sampler = ep.NeighborSampler(FANOUTS, prefetch_node_feats={"author": "feat", "paper": "feat"},
                                             prefetch_labels={"paper": "label"})
                model = make_model(publications, settings, {"author": 4, "paper": 4}, 5, seed_types=["paper"])
                self.check(name, publications, model, publications_training(settings), sampler,
                           ep.NodesOfSplit("random", "train", "paper"), {"author": "feat", "paper": "feat"}, "paper")


class FirstParameters(unittest.TestCase):
    """A model created with a seed has bitwise the initial parameters of a job with that seed. The learning rate of the
    jobs is so small that no step changes a parameter."""

    def check(self, name, model, training, typed):
        training |= {"seed": 7, "epochs": 1, "optimizer": {"type": "SGD", "learningRate": 1e-300}}
        results = run_job(name, training, typed=typed)
        theirs = model_file.read_model_file(results.folder / "model/last.safetensors")[0]
        mine = dict(model.named_parameters())
        self.assertEqual(set(mine), {key for key in theirs if "running" not in key})
        for key, value in mine.items():
            self.assertTrue(torch.equal(value, theirs[key]), key)

    def test_models_on_a_graph_of_one_type(self):
        for name, settings in MODELS.items():
            with self.subTest(name):
                model = make_model(cora, settings, 1433, 7, seed=7)
                self.check(f"first-{name}", model, cora_training(settings), typed=False)

    def test_models_on_a_typed_graph(self):
        for name, settings in TYPED.items():
            with self.subTest(name):
                model = make_model(publications, settings, {"author": 4, "paper": 4}, 5, seed_types=["paper"], seed=7)
                self.check(f"first-{name}", model, publications_training(settings), typed=True)

    def test_types_without_features(self):
        training = publications_training({"type": "RGCN", "hiddenSize": 8})
        training["inputs"] = training["inputs"][1:]
        model = ep.nn.models.RGCN(publications, {"paper": 4}, 8, 5, seed_types=["paper"], seed=7)
        self.check("first-without-features", model, training, typed=True)

    def test_other_seeds(self):
        first, second = (ep.nn.models.GraphSAGE(cora, 5, 8, 7, seed=seed) for seed in (1, 2))
        self.assertFalse(torch.equal(first.layer0.fc_self.weight, second.layer0.fc_self.weight))
        with self.assertRaisesRegex(ep.InvalidArgument, "seed must be at least 0"):
            ep.nn.models.GraphSAGE(cora, 5, 8, 7, seed=-1)


class Refusals(unittest.TestCase):
    def refused(self, words, call, *arguments, **options):
        with self.assertRaisesRegex(ep.InvalidArgument, words):
            call(*arguments, **options)

    def test_arguments(self):
        models = ep.nn.models
        self.refused("normalization must be", models.GraphSAGE, cora, 1433, 8, 7, normalization="all")
        self.refused("dropout must be", models.GraphSAGE, cora, 1433, 8, 7, dropout=1)
        self.refused("must be a multiple of heads=3", models.GAT, cora, 1433, 8, 7, heads=3)
        self.refused("relations for 1 layers", models.RGCN, publications, {"paper": 4}, 8, 5, relations=[["cites"]],
                     seed_types=["paper"])

    def test_batches_without_required_inputs(self):
        loader = ep.DistNodeDataLoader(cora, ep.NodesOfSplit("public", "train"), ep.NeighborSampler([2]), batch_size=8)
        batch = next(iter(loader))
        x = torch.ones(len(batch.input_nodes), 1433)
        self.refused("1 blocks, and the model 2 layers", ep.nn.models.GraphSAGE(cora, 1433, 8, 7), batch.blocks, x)
        one_layer = ep.nn.models.GraphSAGE(cora, 1433, 8, 7, 1, dropout=0.5)
        self.refused("needs StepKeys", one_layer, batch.blocks, x)
        self.assertEqual(one_layer.eval()(batch.blocks, x).shape, (8, 7))
        self.refused("degrees of the whole graph", ep.nn.models.GCN(cora, 1433, 8, 7, 1), batch.blocks, x)

    def test_files(self):
        model, file = ep.nn.models.GraphSAGE(cora, 1433, 8, 7), folder / "refused.safetensors"
        model.save(file, features="node-feat")
        self.refused("hiddenSize is '9', but .* was made with '8'", ep.nn.models.GraphSAGE(cora, 1433, 9, 7).load, file)
        self.refused("model is 'GCN', but .* was made with 'GraphSAGE'", ep.nn.models.GCN(cora, 1433, 8, 7).load, file)
        self.refused(r"'layer0.fc_neigh.weight' has the shape \(8, 1433\), expected \(8, 5\)",
                     ep.nn.models.GraphSAGE(cora, 5, 8, 7).load, file)
        content = file.read_bytes()
        (folder / "short.safetensors").write_bytes(content[:-4])
        with self.assertRaisesRegex(ep.DataLoss, "'output_bias' does not fit the file"):
            ep.nn.load_model(cora, folder / "short.safetensors")
        for name, damaged in (("empty", b""), ("text", b"these are no parameters"), ("cut", content[:40]),
                              ("other", content.replace(b"espalier-model-1", b"espalier-model-9"))):
            (folder / name).write_bytes(damaged)
            self.refused("is not a model file of Espalier", ep.nn.load_model, cora, folder / name)

    def test_training_goes_on_after_inference(self):
        model = ep.nn.models.GraphSAGE(cora, 1433, 8, 7, dropout=0.5)
        outputs = ep.infer(model, cora, "node-feat", batch_size=1000)
        self.assertTrue(model.training)
        self.assertEqual(outputs.shape, (cora.num_nodes(), 7))
        self.refused("no hidden activations", ep.infer, ep.nn.models.GraphSAGE(cora, 1433, 8, 7, 1), cora, "node-feat",
                     hidden=True)


def train(g, model, loader, epochs=2):
    """Returns the loss of each step."""
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    losses = []
    for _ in range(epochs):
        for batch in loader:
            columns, labels = batch.blocks[0].srcdata, batch.blocks[-1].dstdata
            if len(g.ntypes) == 1:
                x, y = torch.from_numpy(columns["node-feat"]), labels["node-label"]
            else:
                x = {name: torch.from_numpy(rows) for name, rows in columns["feat"].items()}
                y = labels["label"]["paper"]
            degrees = ep.nn.models.degrees_of(g, batch) if model.needs_degrees else None
            outputs = model(batch.blocks, x, ep.nn.StepKeys(g, batch, seed=1), degrees)
            loss = torch.nn.functional.cross_entropy(outputs, torch.from_numpy(y).long().reshape(-1))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses


if __name__ == "__main__":
    unittest.main()
